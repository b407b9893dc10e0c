#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What a shell, a terminal and a CI runner see of a command under chisol, held against the same
# command under env. Nothing here changes the machine.
bats_require_minimum_version 1.5.0
load helpers

DIALOG=$REPO/build/tests/tools/pty_dialog
# chisol waits for the command if a report is asked for, and becomes the command otherwise.
WAIT="./chisol -r json:/dev/null"
IN_PLACE=./chisol
MODES=("$WAIT" "$IN_PLACE")

setup() {
	[ -x "$CHISOL" ] && [ -x "$DIALOG" ] || skip "chisol or its test programs are not built (make programs)"
	cd "$BATS_TEST_TMPDIR"
	ln -s "$CHISOL" chisol
	unset "${!CHISOL_@}"
}

teardown() {
	local pid
	for pid in $(jobs -p); do
		# shellcheck disable=SC2046
		kill -KILL $(child_of "$pid") "$pid" 2>/dev/null || true
	done
}

as_root() { [ "$(id -u)" -eq 0 ] || skip "needs root"; }

# How a command ended: "exit N" or "signal N".
how() {
	perl -e 'my $s = system { $ARGV[0] } @ARGV;
		printf "%s %d\n", $s & 127 ? "signal" : "exit", $s & 127 || $s >> 8' -- "$@" 2>/dev/null
}

state_of() { sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null; }
is_state() { [ "$(state_of "$1")" = "$2" ]; }
is_gone() { [[ "$(state_of "$1")" =~ ^Z?$ ]]; }
child_of() { cat "/proc/$1/task/$1/children" 2>/dev/null; }

# start COMMAND...: in the background; pid and, once the command has written "ready", command.
start() {
	: >out
	$WAIT ${OPTIONS-} "$@" >out 2>err &
	pid=$!
	eventually grep -q '^ready' out
	command=$(child_of "$pid" | tr -d ' ')
}

# ended_with STATUS: what start has started.
ended_with() {
	local status=0
	eventually is_gone "$pid"
	wait "$pid" || status=$?
	[ "$status" -eq "$1" ]
}

COUNTER='for s in HUP INT QUIT USR1 USR2 ALRM TERM WINCH CONT IO RTMIN+3; do trap "echo $s" $s; done
	trap "echo end; exit 42" VTALRM
	echo ready; while :; do read -t 1 <> <(:); done'

@test "the exit status is the command's own" {
	for mode in "${MODES[@]}"; do
		for status in 0 1 77 125 126 127 255; do
			run -"$status" $mode sh -c "exit $status"
		done
	done
}

@test "a command that dies of a signal leaves the same wait status as without chisol" {
	local sig expected die=(perl -e '$SIG{$ARGV[0]} = "DEFAULT"; kill $ARGV[0], $$')
	ulimit -c 0
	for sig in HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT XCPU XFSZ \
		VTALRM PROF IO PWR SYS RTMIN RTMAX; do
		expected="signal $(kill -l "$sig")"
		[ "$(how "${die[@]}" "$sig")" = "$expected" ]
		[ "$(how $WAIT "${die[@]}" "$sig")" = "$expected" ]
		[ "$(how $IN_PLACE "${die[@]}" "$sig")" = "$expected" ]
	done
}

@test "a command that dumps core does so once" {
	[ "$(cat /proc/sys/kernel/core_pattern)" = core ] || skip "cores do not go to the directory"
	ulimit -c unlimited || skip "cores are limited"
	[ "$(how $WAIT sh -c 'kill -SEGV $$')" = "signal 11" ]
	ls -l
	[ "$(find . -name 'core*' | wc -l)" -le 1 ]
}

@test "what cannot be run ends with 127 or 126 and a sentence that says why" {
	printf '#!/no/such/interpreter -x\n' >orphan
	printf 'exit 3\n' >plain
	printf '\177ELF' >broken
	cp plain unexecutable
	chmod +x orphan plain broken
	for mode in "${MODES[@]}"; do
		run -127 $mode ./missing
		[[ $output == *"cannot run ./missing: there is no such file"* ]]
		run -127 $mode no-such-command
		[[ $output == *'cannot run "no-such-command": no directory of PATH has it'* ]]
		run -127 $mode ''
		[[ $output == *'cannot run "": no directory of PATH has it'* ]]
		run -127 $mode ./orphan
		[[ $output == *'./orphan: its first line asks for the interpreter "/no/such/interpreter"'* ]]
		PATH=$PWD:$PATH run -127 $mode orphan
		[[ $output == *"$PWD/orphan: its first line"* ]]
		run -126 $mode ./unexecutable
		[[ $output == *"it is not executable (mode 0644)"* ]]
		run -126 $mode /
		[[ $output == *"it is a directory"* ]]
		run -3 $mode ./plain # a script without "#!", as under env
	done
}

@test "the environment differs by the two variables only" {
	env -u _ env | grep -v ^_= | sort >before
	for mode in "${MODES[@]}"; do
		$mode -c 0 env | grep -v ^_= | sort >after
		run -1 diff before after
		[ "$(grep -c '^[<>]' <<<"$output")" -eq 2 ]
		[[ $output == *"> CHISOL_CPUS=0"*"> CHISOL_HOUSEKEEPING_CPUS="* ]]
	done
}

@test "the command has the descriptors that it has under env, no more and no fewer" {
	local redirect
	exec 7</etc/passwd
	for redirect in '' '<&-' '2>&-' '<&- 2>&-' '<&- 2>&- 8>&1'; do
		eval "env ls /proc/self/fd $redirect" >expected
		for mode in "${MODES[@]}"; do
			eval "$mode ls /proc/self/fd $redirect" >found
			diff expected found
		done
	done
	run -127 bash -c "$WAIT missing 2>&-"
	eval "$WAIT sh -c 'echo hello >&2' 2>err <&-"
	[ "$(cat err)" = hello ]
}

@test "ignored and blocked signals reach the command as chisol found them" {
	local how
	for how in "" --ignore-signal=INT,HUP,CHLD,PIPE --block-signal=USR1,TERM,CHLD,CONT; do
		env $how grep -E '^(Sig|Shd)(Pnd|Blk|Ign|Cgt)' /proc/self/status >expected
		for mode in "${MODES[@]}"; do
			env $how $mode grep -E '^(Sig|Shd)(Pnd|Blk|Ign|Cgt)' /proc/self/status >found
			diff expected found
		done
		run -1 env $how $WAIT false
	done
}

@test "a signal that was pending before the start is the command's" {
	for mode in env "${MODES[@]}"; do
		env --block-signal=TERM perl -e 'kill TERM => $$; exec @ARGV' $mode \
			grep -E '^(Sig|Shd)(Pnd|Blk)' /proc/self/status >found
		[ -e expected ] || mv found expected
	done
	grep -q 'ShdPnd:.*4000' expected
	diff expected found
	run -143 $WAIT sh -c 'kill -TERM $$'
}

@test "limits, umask, directory, niceness, process group and session are untouched" {
	local look='umask; pwd; ulimit -a; ulimit -Ha; nice; cut -d" " -f5,6,7,8 /proc/self/stat'
	umask 027
	ulimit -Sn 100
	sh -c "$look" >expected
	for mode in "${MODES[@]}"; do
		$mode sh -c "$look" >found
		diff expected found
	done
}

@test "in place the command has chisol's own pid" {
	$IN_PLACE sh -c 'echo $$' >out &
	wait $!
	[ "$(cat out)" = $! ]
}

@test "standard input and pipelines work as without chisol" {
	for mode in "${MODES[@]}"; do
		[ "$(seq 100000 | $mode cat | md5sum)" = "$(seq 100000 | md5sum)" ]
		bash -c "$mode yes | head -n 2; echo \${PIPESTATUS[0]}" >out
		[ "$(cat out)" = $'y\ny\n141' ]
	done
}

@test "a pipe's other end sees the command close it, not chisol" {
	timeout 60 bash -c "$WAIT sh -c 'exec >&-; until [ -e go ]; do sleep 0.05; done' | { cat; touch go; }"
	[ -e go ]
	timeout 60 bash -c "trap '' PIPE; { while echo x 2>/dev/null; do sleep 0.05; done; touch broken; } |
		$WAIT sh -c 'exec <&-; until [ -e broken ]; do sleep 0.05; done'"
	[ -e broken ]
}

@test "an alarm that was set before chisol was started ends the command" {
	run -142 bash -c "perl -e 'alarm 1; exec @ARGV' $WAIT sleep 1000"
}

@test "each signal that is sent to chisol alone reaches the command once" {
	local sig
	set -m # a shell without job control ignores SIGINT and SIGQUIT in its background
	start bash -c "$COUNTER"
	set +m
	for sig in HUP INT QUIT USR1 USR2 ALRM TERM WINCH CONT IO RTMIN+3; do
		kill -"$sig" "$pid"
		eventually grep -qx "$sig" out
	done
	kill -VTALRM "$pid"
	ended_with 42
	[ "$(sort out | uniq -d)" = "" ]
}

@test "a signal that could not be passed on is told in the report" {
	/bin/kill -q 1 -s 0 $$ || skip "needs kill -q (procps)"
	WAIT="./chisol -r text:report" start bash -c "ulimit -i 0; $COUNTER"
	/bin/kill -q 7 -s RTMIN+3 "$pid"
	eventually grep -q '^ShdPnd:[[:space:]]*0*$' "/proc/$pid/status"
	kill -VTALRM "$pid" # read after the other one was passed on
	ended_with 42
	refute grep -qx RTMIN+3 out
	grep -Eq '1 signal that chisol was sent could not be passed on to the command' <(tr -s ' \n' ' ' <report)
	grep -q 'ulimit -i' report
}

@test "a script's background job can be ended by its pid" {
	run -143 timeout 60 sh -c "$WAIT sleep 1000 & kill \$!; wait \$!"
	run -124 timeout --foreground 1 $WAIT sleep 1000
	run -124 timeout 1 $WAIT sleep 1000
}

@test "signals that the command sends to its group or its parent do not come back to it" {
	set -m
	start bash -c "${COUNTER/echo ready/kill -USR1 \$PPID 0; (kill -USR1 \$PPID; sleep 1); echo ready}"
	set +m
	kill -USR2 "$pid" # read after USR1
	eventually grep -qx USR2 out
	kill -VTALRM "$pid"
	ended_with 42
	[ "$(grep -cx USR1 out)" -eq 1 ]
}

@test "when chisol is killed the command is sent SIGTERM" {
	start bash -c "$COUNTER"
	kill -KILL "$pid"
	eventually grep -qx TERM out
	kill -VTALRM "$command"
	eventually is_gone "$command"
}

@test "a background process that outlives the command keeps nobody waiting" {
	start sh -c 'sleep 1000 & echo ready $!; exit 5'
	ended_with 5
	left=$(sed 's/ready //' out)
	is_state "$left" S
	kill "$left"
	start sh -c 'setsid sleep 1000 & echo ready $!'
	ended_with 0
	kill "$(sed 's/ready //' out)"
}

@test "chisol stops with the command and continues it, as a shell's job" {
	set -m
	start bash -c "$COUNTER"
	set +m
	kill -TSTP "$pid"
	eventually is_state "$command" T
	eventually is_state "$pid" T
	kill -CONT "$pid"
	eventually grep -qx CONT out
	eventually is_state "$pid" S
	kill -STOP "$command"
	eventually is_state "$pid" T
	kill -TERM "$pid" # while both are stopped
	kill -CONT "-$pid"
	eventually grep -qx TERM out
	kill -VTALRM "$pid"
	ended_with 42
}

@test "without job control a command that is stopped by its pid does not leave chisol stopped" {
	start bash -c "$COUNTER"
	kill -STOP "$command"
	eventually is_state "$command" T
	kill -USR1 "$pid"
	kill -CONT "$command"
	eventually grep -qx USR1 out
	kill -VTALRM "$pid"
	ended_with 42
}

# talk RUN STEP...: with an interactive shell, in which $RUN is env or chisol.
talk() {
	local status=0
	RUN=$1 PS1='P> ' HISTFILE=/dev/null \
		"$DIALOG" "${@:2}" '<P> ' $'>exit 33\n' -- bash --norc --noediting -i >raw || status=$?
	sed "s|$WAIT|env|; s/\(\[[0-9]\] \)[0-9][0-9]*/\1PID/" raw | tee said
	[ "$status" -eq 33 ]
}

# dialog STEP...: both must read the same.
dialog() {
	talk env "$@"
	mv said expected
	talk "$WAIT" "$@"
	diff expected said
}

@test "Ctrl-C at the terminal reaches the command once, and a shell shows the same" {
	dialog '<P> ' $'>$RUN bash -c \'trap "echo got-int" INT; trap "echo got-term; exit 6" TERM; echo ready; while :; do read -t 1; done\'\n' \
		'<ready' $'>\x03' '<got-int' $'>\x1a' '<Stopped' '<P> ' $'>kill $(jobs -p); fg\n' '<got-term' '<P> ' $'>echo status $?\n' '<status'
	[ "$(grep -c ^got-int said)" -eq 1 ]
	dialog '<P> ' $'>$RUN sh -c "echo ready; exec sleep 1000"\n' '<ready' $'>\x03' '<P> ' $'>echo status $?\n' '<status 130'
	dialog '<P> ' $'>$RUN sh -c "echo ready; exec sleep 1000"\n' '<ready' $'>\x1c' '<P> ' $'>echo status $?\n' '<status 131'
}

@test "Ctrl-Z, fg and bg work as without chisol" {
	dialog '<P> ' $'>$RUN sh -c "echo ready; exec cat"\n' '<ready' $'>\x1a' '<Stopped' '<P> ' $'>jobs\n' '<Stopped' \
		'<P> ' $'>fg\n' '<cat"' $'>hello\n' '<hello' $'>\x1a' '<Stopped' '<P> ' $'>fg\n' '<cat"' \
		$'>again\n' '<again' $'>\x04' '<P> ' $'>echo status $?\n' '<status 0'
	dialog '<P> ' $'>$RUN sh -c "echo ready; exec sleep 1000"\n' '<ready' $'>\x1a' '<Stopped' '<P> ' $'>bg\n' '<&' \
		'<P> ' $'>jobs\n' '<Running' '<P> ' $'>kill %1; wait %1; echo status $?\n' '<status 143'
	dialog '<P> ' $'>$RUN sh -c "echo ready; exec cat" | cat -n\n' '<ready' $'>\x1a' '<Stopped' '<P> ' $'>fg\n' '<cat -n' \
		$'>hello\n' '<hello' $'>\x04'
}

@test "a background command that reads the terminal stops as a job" {
	local run
	for run in env "$WAIT"; do
		talk "$run" '<P> ' $'>$RUN cat &\n' '<P> ' $'>until jobs | grep -q Stopped; do sleep 0.1; done; echo stopped\n' \
			'<stopped' '<P> ' $'>fg\n' '<cat' $'>hello\n' '<hello' $'>\x04'
	done
}

@test "an interactive shell as command owns the terminal, suspends, and gives it back, even killed" {
	dialog '<P> ' $'>$RUN bash --norc --noediting -i\n' '<P> ' $'>PS1="Q> "\n' '<Q> ' $'>cat\n' $'>one\n' '<one' \
		$'>\x1a' '<Stopped' '<Q> ' $'>fg\n' '<cat' $'>two\n' '<two' $'>\x03' '<Q> ' $'>suspend\n' '<Stopped' '<P> ' \
		$'>fg\n' '<Q> ' $'>echo $((5 + 6))\n' '<11' '<Q> ' $'>kill -KILL $$\n' '<P> ' $'>cat\n' $'>three\n' '<three' $'>\x04'
}

@test "a script regains the terminal after an interactive shell was killed" {
	"$DIALOG" '<P> ' $'>kill -KILL $$\n' '<read' $'>line\n' '<got line' -- \
		bash -c "PS1='P> ' $WAIT bash --norc --noediting -i; echo read; read -r x; echo got \$x"
}

@test "a terminal that goes away takes the command with it" {
	"$DIALOG" '<ready' -- $WAIT sh -c 'trap "echo hup >hup; exit" HUP; echo ready; while :; do sleep 0.1; done' >said &
	eventually grep -q ready said
	kill -KILL $! # the terminal's other end closes
	eventually test -e hup
}

@test "what keeps chisol from starting a process is told, and nothing starts" {
	run -125 bash -c "ulimit -n 5; $WAIT touch ran" 3>&- 4>&-
	[[ $output == *"Too many open files"* ]]
	as_root
	chmod 777 .
	run -125 setpriv --reuid 54321 --regid 54321 --clear-groups prlimit --nproc=1 "$CHISOL" -r json:/dev/null touch ran
	[[ $output == *"cannot start a process for the command"*"ulimit -u"* ]]
	if chrt -d -T 300000000 -P 1000000000 0 true 2>/dev/null; then
		run -125 chrt -d -T 300000000 -P 1000000000 0 "$CHISOL" -r json:/dev/null touch ran
		[[ $output == *"cannot start a process for the command"*"SCHED_DEADLINE"*"put chrt behind it"* ]]
	fi
	[ ! -e ran ]
}

@test "chisol keeps to the housekeeping CPUs while the command has its own mask" {
	local last first
	[ "$(nproc --all)" -gt 1 ] || skip "needs two CPUs"
	last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
	OPTIONS="-c $last" start bash -c "$COUNTER"
	[ "$(taskset -cp "$command" | sed 's/.*: //')" = "$last" ]
	! taskset -cp "$pid" | sed 's/.*://' | grep -qw "$last"
	taskset -cp "$pid"
	kill -VTALRM "$pid"
	ended_with 42
}

# identity OPTION...: what the kernel says of a command.
identity() {
	${mode:-$WAIT} "$@" grep -E '^(Uid|Gid|Groups|Cap...|NoNewPrivs):' /proc/self/status | tr -s '\t ' ' ' |
		sed 's/ $//; s/: 0*\([0-9a-f]\)/: \1/'
}

@test "a change of user leaves no privilege behind" {
	as_root
	local user
	for mode in "${MODES[@]}"; do
		for user in 65534:65534 12345:54321; do
			identity -u "$user" >found
			diff - found <<-END
				Uid: ${user%:*} ${user%:*} ${user%:*} ${user%:*}
				Gid: ${user#*:} ${user#*:} ${user#*:} ${user#*:}
				$(id "${user%:*}" >/dev/null 2>&1 && echo "Groups: ${user#*:}" || echo Groups:)
				CapInh: 0
				CapPrm: 0
				CapEff: 0
				CapBnd: 0
				CapAmb: 0
				NoNewPrivs: 0
			END
		done
	done
	[ "$(identity -u nobody)" = "$(identity -u "$(id -u nobody)")" ]
	[ "$(identity -u "nobody:$(id -gn nobody)")" = "$(identity -u nobody)" ]
	[ "$(HOME=/h USER=u LOGNAME=l SHELL=/s $WAIT -u nobody sh -c 'echo $HOME $USER $LOGNAME $SHELL')" = "/h u l /s" ]
}

@test "kept capabilities survive exec as an ordinary user, and no others" {
	as_root
	identity -u nobody --keep-caps net_bind_service,CAP_SYS_NICE -s user.no_new_privs=yes >found
	[ "$(grep -c ': 800400$' found)" -eq 5 ]
	grep -qx 'NoNewPrivs: 1' found
	run -0 $WAIT -u nobody --keep-caps sys_nice nice -n -5 nice
	[ "$output" = "$(($(nice) - 5))" ]
}

@test "a killed chisol is told to a command of another user" {
	as_root
	chmod 777 .
	OPTIONS='-u nobody' start bash -c "$COUNTER"
	kill -USR1 "$pid"
	eventually grep -qx USR1 out
	kill -KILL "$pid"
	eventually grep -qx TERM out
	kill -KILL "$command"
}

@test "@caller is the user who called sudo, if that user exists and has that group" {
	as_root
	[ "$(SUDO_UID=$(id -u daemon) SUDO_GID=$(id -g daemon) identity -u @caller)" = "$(identity -u daemon)" ]
	run -125 env -u SUDO_UID $WAIT -u @caller touch ran
	[[ $output == *"no SUDO_UID"* ]]
	SUDO_UID=x SUDO_GID=0 run -125 $WAIT -u @caller touch ran
	[[ $output == *"not a number"* ]]
	SUDO_UID=4000000000 SUDO_GID=0 run -125 $WAIT -u @caller touch ran
	[[ $output == *"user 4000000000 (SUDO_UID) does not exist"* ]]
	SUDO_UID=$(id -u daemon) SUDO_GID=0 run -125 $WAIT -u @caller touch ran
	[[ $output == *"not in group 0"* ]]
	[ ! -e ran ]
}

@test "users, groups and capabilities that make no sense are refused before anything runs" {
	local options message
	while IFS='|' read -r options message; do
		run -125 $WAIT $options touch ran
		echo "$options: $output"
		[[ $output == *"$message"* ]]
		[ ! -e ran ]
	done <<-'END'
		-u no-such-user|user "no-such-user" does not exist
		-u root:no-such-group|group "no-such-group" does not exist
		-u 3999999999|has no entry in the password database
		-u 4294967295:0|user "4294967295" does not exist
		-u -1:0|user "-1" does not exist
		-u :0|is not USER or USER:GROUP
		-u root:|is not USER or USER:GROUP
		-u nobody --keep-caps sys_nise|did you mean "sys_nice"
		-u nobody --keep-caps sys_nice,|"" is not a capability
		--keep-caps sys_nice|--keep-caps needs --user
	END
}

@test "a missing capability is named" {
	as_root
	run -125 setpriv --bounding-set -setpcap $WAIT -u nobody touch ran
	[[ $output == *"lacks the capability cap_setpcap"* ]]
	run -125 setpriv --bounding-set -sys_nice $WAIT -u nobody --keep-caps sys_nice touch ran
	[[ $output == *"lacks the capability cap_sys_nice that the command is to keep"* ]]
	run -125 setpriv --reuid 65534 --clear-groups "$CHISOL" -r json:/dev/null -u daemon touch ran
	[[ $output == *"lacks the capability cap_setuid"* ]]
	[ ! -e ran ]
	run -0 setpriv --reuid 65534 --regid 65534 --clear-groups "$CHISOL" true
	run -0 setpriv --reuid 65534 --regid 65534 --clear-groups "$CHISOL" -r json:/dev/null true
}

@test "what chisol may not write is named before anything is written" {
	local unprivileged=()
	[ -x "$CHISOL" ] || skip "chisol is not built"
	[ "$(id -u)" -ne 0 ] || unprivileged=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	run -125 "${unprivileged[@]}" "$CHISOL" -c 0 -s irq.default_affinity=yes -s irq.policy=require touch ran
	[[ $output == *"cannot write /proc/irq/default_smp_affinity for irq.default_affinity: Permission denied"* ]]
	[ ! -e ran ]
	as_root
	run -125 setpriv --bounding-set -setpcap "$CHISOL" -c 0 -q vmstat_sync -u 65534:65534 touch ran
	[[ $output == *"lacks the capability cap_setpcap"* ]]
	[ ! -e ran ]
}
