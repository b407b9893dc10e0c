# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
# Packages for guests: sourced; $cache is set.

# A machine without network is told so soon.
apt_get=(apt-get -q -y -o APT::Sandbox::User=root -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o Acquire::Retries=1)

# apt-get with lists of its own, for other suites and architectures, from where the host gets its
# packages: the host's apt is left alone. Its status is empty, so all that a package needs comes with it.
private_apt() { # ARCH SUITE COMMAND...
	local arch=$1 suite=$2 root=$cache/apt-$1-$2 mirror
	shift 2
	mirror=$(grep -hoE '^[^#]*https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		grep -oE 'https?://[^ ]*' | head -n 1) || true
	[ -n "$mirror" ] || { echo "/etc/apt names no Debian mirror" >&2 && return 1; }
	mkdir -p "$root"/{lists/partial,cache/archives/partial,state}
	: >>"$root/status"
	{
		echo "deb $mirror $suite main"
		[ "$suite" != bookworm ] || echo "deb ${mirror%/}-security bookworm-security main"
	} | sed 's|^deb |&[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |' >"$root/sources.list"
	"$@" -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
		-o Dir::Etc::SourceList="$root/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$root/state" \
		-o Dir::State::Lists="$root/lists" -o Dir::State::status="$root/status" -o Dir::Cache="$root/cache" -o Acquire::Languages=none
}

# Several runs share a cache: they wait for what another one unpacks, until the shell that called this ends.
lock_cache() {
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
}

# One look at the package lists a day is enough, and without network old ones may do.
update_lists() { # APT...
	local fresh=$cache/lists-${2:-host}-${3:-host}
	[ -z "$(find "$fresh" -mmin -1440 2>/dev/null)" ] || return 0
	if "$@" "${apt_get[@]}" -o APT::Update::Error-Mode=any update >&2; then touch "$fresh"; fi
}

# A tree of packages and all that they need, unpacked and not installed. Prints its directory.
package_tree() { # ARCH NAME PACKAGE...
	local arch=$1 tree=$cache/tree-$1-$2 list deb
	shift 2
	list="$*"
	if [ "$(cat "$tree/.packages" 2>/dev/null)" != "$list" ]; then
		rm -rf "$tree"
		mkdir -p "$tree"
		update_lists private_apt "$arch" bookworm
		private_apt "$arch" bookworm "${apt_get[@]}" --no-install-recommends --download-only install "$@" >&2 || return
		for deb in "$cache/apt-$arch-bookworm/cache/archives"/*.deb; do dpkg -x "$deb" "$tree" || return; done
		rm -f "$cache/apt-$arch-bookworm/cache/archives"/*.deb
		echo "$list" >"$tree/.packages"
	fi
	echo "$tree"
}
