# SPDX-License-Identifier: GPL-2.0-or-later
# make install, as a packager runs it.
load helpers

setup_file() {
	export BUILD=$BATS_FILE_TMPDIR/build DEST=$BATS_FILE_TMPDIR/dest
	make -s -C "$REPO" install BUILD="$BUILD" DESTDIR="$DEST" prefix=/usr sysconfdir=/etc/test
}

@test "the program, its pages, profiles, completion and documents are installed" {
	[ -x "$DEST/usr/bin/chisol" ]
	[ -f "$DEST/usr/share/man/man1/chisol.1" ]
	[ -f "$DEST/usr/share/man/man5/chisol.conf.5" ]
	[ -f "$DEST/usr/share/chisol/conf/oslat.conf" ]
	[ -f "$DEST/usr/share/bash-completion/completions/chisol" ]
	[ -f "$DEST/usr/share/doc/chisol/README.md" ]
	[ -d "$DEST/etc/test/chisol" ]
}

@test "the probe is installed: command, library, header, pages and completion" {
	"$DEST/usr/bin/isolprobe" --version
	[ -f "$DEST/usr/include/isolprobe.h" ]
	[ -f "$DEST/usr/lib/libisolprobe.a" ]
	[ "$(readlink "$DEST/usr/lib/libisolprobe.so")" = libisolprobe.so.0 ]
	[ -f "$DEST/usr/share/man/man1/isolprobe.1" ]
	[ -f "$DEST/usr/share/man/man3/isolprobe.3" ]
	[ -f "$DEST/usr/share/bash-completion/completions/isolprobe" ]
}

@test "the library shows what is public and nothing else" {
	run nm -D --defined-only --format=just-symbols "$DEST/usr/lib/libisolprobe.so.0"
	[ -n "$output" ]
	refute grep -vE '^(isolprobe_|LIBISOLPROBE_)' <<<"$output"
	run nm -g --defined-only --format=just-symbols "$DEST/usr/lib/libisolprobe.a"
	grep -qx isolprobe_gap_ <<<"$output"
	refute grep -E '^[a-z]' <<<"$(grep -vE '^(isolprobe_|libisolprobe.o:)' <<<"$output")"
}

@test "pkg-config tells where the profiles are" {
	run env PKG_CONFIG_PATH="$DEST/usr/share/pkgconfig" pkg-config --variable=profiledir chisol
	[ "$output" = /usr/share/chisol/conf ]
}

@test "a program is built as isolprobe(3) says, and runs" {
	export PKG_CONFIG_PATH=$DEST/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$DEST
	export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 # where a distribution has them nothing need be said
	cat >"$BATS_TEST_TMPDIR/example.c" <<-'END'
		#include <isolprobe.h>

		int main(void)
		{
			struct isolprobe probe;

			if (isolprobe_begin(&probe, 0))
				return 1;
			isolprobe_tick(&probe);
			isolprobe_free(isolprobe_end(&probe));
			return 0;
		}
	END
	cd "$BATS_TEST_TMPDIR"
	# shellcheck disable=SC2046 # flags
	gcc -o example example.c $(pkg-config --cflags --libs isolprobe)
	LD_LIBRARY_PATH=$DEST/usr/lib ./example
}

@test "every page is installed, and every file that the pages say is" {
	local page
	for page in "$REPO"/man/*.[1-8]; do
		[ -f "$DEST/usr/share/man/man${page##*.}/${page##*/}" ]
	done
	[ -f "$DEST/usr/share/doc/chisol/chisol-report.schema.json" ]
	[ -f "$DEST/usr/lib/chisol/libisolprobe-preload.so" ]
	[ -f "$DEST/usr/share/chisol/conf/minimal.conf" ]
}

@test "the installed program looks for profiles where they were installed to" {
	run "$DEST/usr/bin/chisol" -p no-such-profile true
	[ "$status" -eq 125 ]
	[[ $output == */usr/share/chisol/conf* ]]
	[[ $output == */etc/test/chisol* ]]
}

@test "the program is position-independent and its relocations are read-only" {
	run readelf -hldW "$DEST/usr/bin/chisol"
	[[ $output == *"DYN (Position-Independent Executable file)"* ]]
	[[ $output == *GNU_RELRO* ]]
	[[ $output == *NOW* ]]
}

@test "a changed flag rebuilds, an unchanged one does not" {
	local one=(make -C "$REPO" "$BUILD/obj/isolcore/mem.o" BUILD="$BUILD" prefix=/usr sysconfdir=/etc/test)
	run "${one[@]}"
	[[ $output != *" -c -o "* ]]
	run "${one[@]}" LDFLAGS=-Wl,-O1
	[[ $output == *" -c -o "* ]]
}

@test "uninstall leaves nothing behind" {
	make -s -C "$REPO" uninstall BUILD="$BUILD" DESTDIR="$DEST" prefix=/usr sysconfdir=/etc/test
	run find "$DEST" -type f
	[ -z "$output" ]
}
