# SPDX-License-Identifier: GPL-2.0-or-later
# Checks a document against a JSON Schema, in the words of draft-07 that chisol's schema uses; a word
# that is not known here is a complaint, so that none is passed over. Prints a complaint a line:
#   jq -r --slurpfile schema man/chisol-report.schema.json -f tests/schema.jq DOCUMENT
def known: ["$schema", "$ref", "title", "description", "definitions", "type", "enum", "const", "pattern",
	"minimum", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf"];
def types: type as $t | [$t] + (if $t == "number" and . == floor then ["integer"] else [] end);
def complaints($root; $s; $at):
	. as $v |
	(($s | keys) - known | .[] | "\($at): the schema says \(.), which is not checked"),
	(if $s["$ref"] then
		complaints($root; $root | getpath($s["$ref"] | split("/")[1:]); $at)
	else empty end),
	(if $s | has("type") then
		if types - (types - [$s.type | if type == "array" then .[] else . end]) == [] then
			"\($at): is \(type), should be \($s.type)"
		else empty end
	else empty end),
	(if $s.enum and (any($s.enum[]; . == $v) | not) then "\($at): \($v) is none of \($s.enum)" else empty end),
	(if ($s | has("const")) and $s.const != $v then "\($at): \($v) is not \($s.const)" else empty end),
	(if $s.pattern and type == "string" and (test($s.pattern) | not) then
		"\($at): \($v) does not match \($s.pattern)"
	else empty end),
	(if ($s | has("minimum")) and type == "number" and . < $s.minimum then "\($at): \($v) is too small" else empty end),
	(if type == "object" then
		(($s.required // []) - keys | .[] | "\($at): has no \(.)"),
		(keys[] as $k | $s.properties[$k] as $p |
			if $p then
				$v[$k] | complaints($root; $p; "\($at).\($k)")
			elif ($s | has("additionalProperties")) and $s.additionalProperties == false then
				"\($at): has \($k), which is not in the schema"
			elif $s.additionalProperties | type == "object" then
				$v[$k] | complaints($root; $s.additionalProperties; "\($at).\($k)")
			else empty end)
	else empty end),
	(if type == "array" and $s.items then
		to_entries[] | .key as $i | .value | complaints($root; $s.items; "\($at)[\($i)]")
	else empty end),
	(if $s.anyOf and ([$s.anyOf[] as $b | select([$v | complaints($root; $b; $at)] == [])] == []) then
		"\($at): \($v | tojson | .[:60]) fits no branch"
	else empty end),
	(if $s.oneOf then
		[$s.oneOf[] as $b | [$v | complaints($root; $b; $at)]] |
		if map(select(. == [])) | length == 1 then empty else (min_by(length) // []) | .[] end
	else empty end);
$schema[0] as $root | complaints($root; $root; "document")
