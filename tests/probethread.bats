# SPDX-License-Identifier: GPL-2.0-or-later
# --probe=thread: libisolprobe in the command, and chisol's looks at its threads.

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	requires_two_cpus && requires "Linux 5.9" [ "$(uname -r | cut -d. -f1)" -gt 5 ] || return 0
	lock_machine # the runs of others take CPU 1
	make -s -C "$REPO" all build/tests/tools/{habits,isolkernel,isolstate,prctlcheck}
}

setup() {
	check_requirements
	HABITS=$REPO/build/tests/tools/habits
	cd "$BATS_TEST_TMPDIR"
}

# follow COMMAND...: on CPU 1, with its report in json
follow() {
	"$CHISOL" -c 1 --probe=thread -r json:json -r text:text "$@"
}

threads() { # FILTER
	jq -e ".probe.threads | $1" json
}

loaded() {
	threads '.library.loaded and .library.reason == null'
}

not_loaded() { # WHY
	threads ".library.loaded | not"
	[[ $(jq -r .probe.threads.library.reason json) == *"$1"* ]]
	grep -q 'chisol from outside' text
	# ... and its main thread is followed all the same
	threads '.looks_from_outside > 0 and any(.list[]; .main and .hot)'
}

# observed_by WORDS
observed_by() {
	[[ $(jq -r .probe.threads.observer json) == *"$1"* ]]
}

# await WORD: until the command in the background has said it
await() {
	eventually grep -qs "$1" out
}

is_gone() { # PID: or only to be reaped by whoever does that here
	[ ! -e "/proc/$1" ] || [ "$(awk '{print $3}' "/proc/$1/stat")" = Z ]
}

@test "libisolprobe's thread follows the command from a housekeeping CPU, and the report is as its schema says" {
	follow "$HABITS" nobodys-enemy
	loaded
	threads '.library.looks >= 2 and (.observer | contains("CPU 0"))'
	threads '.list | length == 1 and .[0].main and .[0].hot and .[0].cpu == 1'
	valid json
}

@test "there is one thread more, it blocks every signal, and is where the command's threads are not" {
	"$CHISOL" -c 1 --probe=thread "$HABITS" wait >out 2>err &
	local chisol=$! pid tid
	await waiting
	pid=$(pgrep -P $chisol habits)
	for tid in /proc/$pid/task/*; do
		[ "$(cat "$tid/comm")" != chisol-probe ] || break
	done
	for _ in $(seq 50); do # it begins where the command is
		[ "$(sed -n 's/^Cpus_allowed_list:\t//p' "$tid/status")" = 1 ] || break
		sleep 0.1
	done
	cat "$tid/status"
	[ "$(cat "$tid/comm")" = chisol-probe ]
	[ "$(ls "/proc/$pid/task" | wc -l)" -eq 2 ]
	[ "$(sed -n 's/^Cpus_allowed_list:\t//p' "$tid/status")" = 0 ]
	# all but SIGKILL, SIGSTOP and the two that glibc keeps to itself
	[ "$(sed -n 's/^SigBlk:\t//p' "$tid/status")" = fffffffe3ffbfeff ] ||
		[ "$(sed -n 's/^SigBlk:\t//p' "$tid/status")" = fffffffe7ffbfeff ]
	[ "$(awk '{print $41}' "$tid/stat")" = 0 ] # SCHED_OTHER
	kill $chisol
	wait $chisol || true
}

@test "calls by which one thread interrupts another are counted, with thread and place; those that disturb nobody are not" {
	follow "$HABITS" own-enemy
	loaded
	threads '.own_calls[] | select(.call == "munmap" and .count == 500) | .object | endswith("habits")'
	# ... beside one by which the main thread registers for it
	threads 'any(.own_calls[]; .call == "membarrier" and .count == 500 and .offset > 0 and .last_ns > .first_ns)'
	threads '(.own_calls[] | select(.call == "munmap").tid) as $tid | .list[] | select(.tid == $tid) |
		.name == "culprit" and (.on_workload | not)'
	threads '.list[] | select(.name == "spinner") | .hot and .on_workload'
	grep -q 'munmap 500 times by culprit' text
	follow "$HABITS" nobodys-enemy
	threads '[.own_calls[] | select(.call == "munmap")] | length == 0'
}

@test "the place of a call is the one in the program" {
	command -v addr2line || skip "needs addr2line"
	follow "$HABITS" own-enemy
	local offset
	offset=$(jq -r '.probe.threads.own_calls[] | select(.call == "munmap" and .count == 500) | .offset' json)
	[ "$(addr2line -f -e "$HABITS" "$(printf %#x "$offset")" | head -n 1)" = interrupt_others ]
}

@test "a thousand threads are created and ended, and each is known" {
	follow "$HABITS" thousand
	loaded
	threads '.library.threads_created == 1000 and .library.threads_ended == 1000 and .not_followed == 0'
	threads '(.list | length) + .not_listed >= 1001'
	grep -q 'and 99[0-9] more' text
}

@test "many threads with stacks, masks and signals of their own, as a Go program has" {
	follow "$HABITS" many
	loaded
	threads '.library.threads_created == 64 and .cpus[0].stacked'
}

@test "threads may end by pthread_exit() and pthread_cancel()" {
	follow "$HABITS" early
	threads '.library.threads_created == 50 and .library.threads_ended == 50'
}

@test "a thread's name does no harm to the report, whatever it is" {
	follow "$HABITS" name $'\e[31m\xff"\\\n)x'
	valid json
	threads 'any(.list[]; .name | contains("[31m"))'
	refute grep -q $'\e' text
}

@test "the program ends with its last thread, though the main one has ended before" {
	[ "$(follow "$HABITS" end-main)" = bye ]
	loaded
	threads 'any(.list[]; .main and .ended)'
}

@test "waitpid, signals and descriptors are as without the library" {
	local habit
	for habit in fork signals descriptors close-all; do
		follow "$HABITS" $habit </dev/null 3>&-
		loaded
	done
}

@test "a program that must be alone, or filters all threads, has the library's thread out of its way" {
	follow "$HABITS" filter
	loaded
	observed_by 'made way for a system call'
	unshare -U true 2>/dev/null || skip "cannot make a user namespace"
	follow "$HABITS" unshare
	observed_by 'made way for a system call'
}

@test "into a namespace a program enters alone where the kernel wants that, and only there" {
	((EUID == 0)) || skip "needs root"
	follow "$HABITS" enter-network
	loaded
	[[ $(jq -r .probe.threads.observer json) != *"made way"* ]]
	follow "$HABITS" enter-mounts
	observed_by 'made way for a system call'
	follow "$HABITS" enter-mounts of-any-kind
	observed_by 'made way for a system call'
}

@test "threads that allocate nothing have no arena of malloc's" {
	follow "$HABITS" arenas
	loaded
}

@test "under a filter of its own a thread makes no call that it would not make alone" {
	run -0 --separate-stderr follow "$HABITS" filter-threads
	[ "$output" = bye ]
	loaded
	follow "$HABITS" ask-for-filters
	[[ $(jq -r .probe.threads.observer json) != *"made way"* ]]
}

@test "no function becomes one that cancels its thread" {
	follow "$HABITS" cancel
	loaded
	# ... and the library's threads, one after the other, are none of the command's
	threads '(.list | length) == 2 and all(.list[]; .name != "chisol-probe")'
}

@test "a program may have thread-local variables of any size" {
	local size
	for size in 50000 54000 1000000; do
		cat >tls.c <<-END
			#include <unistd.h>
			static __thread char variable[$size];
			int main(int argc, char **argv)
			{
				variable[argc] = argv != 0;
				return usleep(500000);
			}
		END
		gcc -o tls tls.c
		follow ./tls
		loaded
		threads '.library.looks > 0'
	done
}

@test "a realtime program has an ordinary thread beside it" {
	chrt -f 1 true 2>/dev/null || skip "may not be realtime"
	chrt -f 1 "$REPO/build/chisol" -c 1 --probe=thread -r json:json sh -c \
		'sleep 0.5; cut -d " " -f 2,41 /proc/$$/task/*/stat' >policies
	loaded
	grep -qx '(sh) 1' policies
	grep -qx '(chisol-probe) 0' policies
}

@test "a program that gains privileges takes no record from who starts it" {
	((EUID == 0)) || skip "needs root"
	cat >give.c <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/mman.h>
		#include <unistd.h>
		#include "tick_slot.h"
		int main(int argc, char **argv)
		{
			int fd = memfd_create("record", MFD_ALLOW_SEALING);
			struct record *record;
			char number[16];

			if (argc < 2 || ftruncate(fd, RECORD_SIZE) ||
			    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
				return 9;
			record = mmap(NULL, RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			record->head = (struct record_head){ RECORD_MAGIC, RECORD_SIZE, RECORD_VERSION };
			record->orders.pid = getpid();
			snprintf(number, sizeof(number), "%d", fd);
			setenv(RECORD_ENV, number, 1);
			execv(argv[1], argv + 1);
			return 9;
		}
	END
	printf 'void *isolprobe_record_(void); int main(void) { return !isolprobe_record_(); }\n' >take.c
	gcc -D_GNU_SOURCE -I "$REPO/probe" -o give give.c
	gcc -o take take.c "$REPO/build/libisolprobe.a"
	run -0 ./give ./take
	chown 1:1 take
	chmod 4755 take
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* .
	run -1 ./give ./take
}

@test "a program that gives up its privileges gives up those of the library's thread, too" {
	((EUID == 0)) || skip "needs root"
	follow "$HABITS" drop
	loaded
	threads '.library.looks > 3 and .looks_from_outside < 10'
	command -v setpriv || skip "needs setpriv"
	# which keeps its capabilities over that, in its own thread
	follow setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all sleep 0.3
}

@test "a change of credentials that takes long is no exec" {
	run -137 follow "$HABITS" slow-user
	loaded
	threads '.library.looks > 3'
	[[ $(jq -r .probe.threads.observer json) != *"chisol from outside"* ]]
}

@test "in a root directory without /proc the library's thread says what it misses, and chisol goes on" {
	((EUID == 0)) || skip "needs root"
	mkdir jail
	follow "$HABITS" jail jail
	loaded
	observed_by 'No such file or directory: the program has changed its root directory (chroot) to one without /proc; mount proc there'
	threads '.library.looks > 0 and .looks_from_outside > 0'
}

@test "children do not have the library, and the environment is the command's own" {
	follow env >env
	refute grep -E 'LD_PRELOAD|ISOLPROBE' env
	follow sh -c 'env; cat /proc/self/maps; ls -l /proc/self/fd' >child
	refute grep -E 'LD_PRELOAD|ISOLPROBE|libisolprobe|chisol-record' child
	loaded
}

@test "what the user preloads stays, and comes first" {
	LD_PRELOAD=libm.so.6 follow sh -c 'cat /proc/$$/maps; env' >maps
	grep -q libisolprobe-preload maps
	grep -q libm.so maps
	grep -qx LD_PRELOAD=libm.so.6 maps
	loaded
}

@test "a shell that has its own getenv and unsetenv starts as it should" {
	command -v bash || skip "needs bash"
	[ "$(LD_PRELOAD= follow bash -c 'echo "${LD_PRELOAD-none} ${ISOLPROBE_RECORD-none}"; exit 0')" = 'none none' ]
	loaded
}

@test "a program that becomes another one is followed from outside from then on" {
	follow "$HABITS" exec
	loaded
	threads '.looks_from_outside > 0 and any(.list[]; .main and .name == "sleep")'
	observed_by 'replaced itself by another (exec)'
}

@test "a daemon ends the run with its first process" {
	follow "$HABITS" daemon
	jq -e '.exit.kind == "exited" and .exit.status == 0' json
}

@test "a static program, a missing one and a script say why the library is not there, or that it is" {
	echo 'int main(void) { for (volatile int i = 0; i < 300000000; i++); return 0; }' >static.c
	gcc -static -o static static.c || skip "cannot link statically"
	follow ./static
	not_loaded 'static: it is linked statically'
	printf '#!/bin/sh\nsleep 0.5\n' >script
	chmod +x script
	follow ./script
	loaded
	printf '#!%s/static\n' "$PWD" >interpreted
	chmod +x interpreted
	follow ./interpreted
	not_loaded 'static: it is linked statically'
}

@test "a program that gains privileges says so, and gets neither descriptor nor variable" {
	((EUID == 0)) || skip "needs root"
	cp "$(command -v env)" setuid
	chown 1:1 setuid
	chmod 4755 setuid
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* .
	follow ./setuid >out
	refute grep -E 'ISOLPROBE' out
	threads '.library.loaded | not'
	grep -q 'gains privileges' text
}

@test "a program for another machine, or with another loader, is not given what it cannot load" {
	cp "$(command -v sleep)" other
	# the interpreter's name, changed in place to another existing one
	cp "$(sed -n 's/.*\(\/lib64\/ld-linux-x86-64.so.2\).*/\1/p;q' <(strings other | grep -m1 ld-linux))" ld-other.so 2>/dev/null ||
		skip "only for x86_64"
	ln -s "$PWD/ld-other.so" /tmp/ld-chisol-test-1234.so
	sed -i 's|/lib64/ld-linux-x86-64.so.2|/tmp/ld-chisol-test-1234.so|' other
	run follow ./other 0.5
	rm -f /tmp/ld-chisol-test-1234.so
	[ "$status" -eq 0 ]
	not_loaded 'another C library'
}

@test "the record is read after the program was killed by SIGKILL" {
	run -137 follow "$HABITS" die
	loaded
	threads '.library.looks >= 2 and .list[0].looks >= 2'
	jq -e '.exit.signal == 9' json
}

@test "when chisol is killed the command is told to end, and nothing is left" {
	"$CHISOL" -c 1 --probe=thread "$HABITS" wait >out 2>err &
	local chisol=$! pid
	await waiting
	pid=$(pgrep -P $chisol habits)
	kill -KILL $chisol
	wait $chisol || true
	eventually is_gone "$pid"
}

@test "when both are killed, nothing is left" {
	"$CHISOL" -c 1 --probe=thread "$HABITS" wait >out 2>err &
	local chisol=$! pid
	await waiting
	pid=$(pgrep -P $chisol habits)
	kill -KILL $chisol "$pid"
	wait $chisol || true
	eventually is_gone "$pid"
}

@test "an unwritable report ends chisol before the command starts" {
	run -125 "$CHISOL" -c 1 --probe=thread -r json:/nonexistent/json touch ran
	[ ! -e ran ]
}

@test "another user's command is followed, and says if it may not read the library" {
	((EUID == 0)) || skip "needs root"
	mkdir -m 755 open
	cp "$REPO"/build/chisol "$REPO/build/libisolprobe-preload.so" "$HABITS" open/
	chmod 755 open/* "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* .
	CHISOL=$PWD/open/chisol follow -u nobody "$PWD/open/habits" nobodys-enemy
	loaded
	threads '.library.looks >= 2'
	chmod 600 open/libisolprobe-preload.so
	CHISOL=$PWD/open/chisol follow -u nobody "$PWD/open/habits" nobodys-enemy
	not_loaded 'may not read'
}

@test "without any privilege it works the same, and auto means it where tracing is not permitted" {
	((EUID == 0)) || skip "needs root, to give it up"
	command -v setpriv || skip "needs setpriv"
	mkdir -m 777 open
	cp "$REPO"/build/chisol "$REPO/build/libisolprobe-preload.so" "$HABITS" open/
	chmod 755 open/* "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* .
	cd open
	setpriv --reuid=65534 --regid=65534 --clear-groups ./chisol -c 1 --probe -r json:json -r text:text ./habits nobodys-enemy
	loaded
	jq -e '.probe.mode == "thread" and (.probe.unavailable | contains("it takes root"))' json
	grep -q 'trace events  not watched: ' text
}

@test "in a run with a group for helpers the library's thread is in it" {
	((EUID == 0)) || skip "needs root"
	run follow -s cgroup.policy=require -s cgroup.helpers=yes "$HABITS" nobodys-enemy
	[ "$status" -eq 0 ] || skip "this machine makes no group for helpers: $output"
	loaded
	threads '.library.helper_group and .library.looks >= 1'
}

@test "the verdict: interrupts and other tasks break it, within the limits it is kept" {
	run -120 follow -f broken "$HABITS" nobodys-enemy
	run -0 follow -f broken -f inconclusive -s verdict.max_breaks=1000000000 "$HABITS" nobodys-enemy
	jq -e '.probe.verdict == "kept" and .probe.threads.cpus[0].interrupts > 0' json
	run -121 follow -f inconclusive -s verdict.max_gap=1000000 "$HABITS" nobodys-enemy
	run -0 follow -f broken -s verdict.grace=100000 "$HABITS" nobodys-enemy
	jq -e '.probe.threads.cpus[0] | .interrupts == 0 and .counts.involuntary == 0' json
}

@test "where /proc/interrupts is masked the report says so, and no verdict is made up" {
	((EUID == 0)) || skip "needs root"
	unshare -m true 2>/dev/null || skip "cannot make a mount namespace"
	unshare -m sh -c 'mount --bind /dev/null /proc/interrupts && exec "$0" "$@"' \
		"$CHISOL" -c 1 --probe=thread -s verdict.max_breaks=1000000000 -r json:json -r text:text "$HABITS" nobodys-enemy
	jq -e '.probe.verdict == "inconclusive" and (.probe.threads.interrupts_unavailable | contains("/proc/interrupts"))' json
}

# On a kernel that tests/tools/isolkernel plays.
@test "threads with a name of the profile have task isolation activated, others not" {
	local tools=$REPO/build/tests/tools habit
	"$tools/isolkernel" true || skip "isolkernel cannot play a kernel here (status $?)"
	[ ! -e /proc/self/task_isolation ] || skip "this kernel really has task isolation"
	for habit in name name-another; do
		for abi in v6 v4; do
			run -0 "$tools/isolkernel" --abi $abi --log calls "$CHISOL" -c 1 -q vmstat_sync --probe=thread \
				-s 'task_isolation.threads=other, wor*' -r json:json "$HABITS" $habit worker
			threads '.isolation_unavailable == null'
			threads '[.list[] | select(.task_isolation == "active")] | length == 1 and .[0].name == "worker"'
			[ "$(grep -c 'ACTIVATE_SET.* = 0' calls)" -eq 1 ]
		done
	done
	# the kernel takes 15 bytes of a name, wherever it ends
	run -0 "$tools/isolkernel" "$CHISOL" -c 1 -q vmstat_sync --probe=thread -s task_isolation.threads='*-lon' \
		-r json:json "$HABITS" name worker-of-a-long-name
	threads 'any(.list[]; .task_isolation == "active" and .name == "worker-of-a-lon")'
	run -0 "$tools/isolkernel" "$CHISOL" -c 1 -q vmstat_sync --probe=thread -s task_isolation.threads=other \
		-r json:json "$HABITS" name worker
	threads 'all(.list[]; .task_isolation == null)'
}

@test "on a kernel without task isolation no number is called for it, and the report says so" {
	command -v strace || skip "needs strace"
	[ ! -e /proc/self/task_isolation ] || skip "this kernel really has task isolation"
	strace -f -e trace=prctl -e raw=prctl -o trace "$CHISOL" -c 1 -q vmstat_sync --probe=thread \
		-s task_isolation.threads=worker -r json:json "$HABITS" name worker
	grep -q 'prctl(0xf' trace
	run -1 grep -E 'prctl\((0x3e|0x3f|0x40|0x41|0x42|0x43)\b' trace
	threads '.isolation_unavailable | contains("no task isolation interface")'
}

@test "an installed chisol finds its library, and one without says so" {
	make -s -C "$REPO" install DESTDIR="$PWD" prefix=/usr
	[ -e usr/lib/chisol/libisolprobe-preload.so ]
	cp usr/bin/chisol alone
	CHISOL=$PWD/alone follow "$HABITS" nobodys-enemy
	[ -e /usr/local/lib/chisol/libisolprobe-preload.so ] || not_loaded 'does not find libisolprobe-preload.so'
	cp usr/lib/chisol/libisolprobe-preload.so .
	CHISOL=$PWD/alone follow "$HABITS" nobodys-enemy
	loaded
}

@test "the library stands before nobody else's functions than those of its list" {
	run nm -D --defined-only --format=just-symbols "$REPO/build/libisolprobe-preload.so"
	[ "$(sort <<<"$output")" = "$(sed -n 's/^\t\([a-z_0-9]*\);$/\1/p' "$REPO/probe/preload/preload.map" | sort)" ]
	# ... and what programs link before none
	refute grep -vE '^(isolprobe_|LIBISOLPROBE_)' <(nm -D --defined-only --format=just-symbols "$REPO/build/libisolprobe.so")
}

@test "a program that is linked with libisolprobe, too, shares the record with the preloaded copy" {
	cat >linked.c <<-'END'
		#include <isolprobe.h>
		void *isolprobe_record_(void);
		int main(void)
		{
			struct isolprobe probe;
			isolprobe_begin(&probe, 0);
			isolprobe_free(isolprobe_end(&probe));
			return !isolprobe_record_();
		}
	END
	gcc -I "$REPO/probe" -o with.a linked.c "$REPO/build/libisolprobe.a"
	gcc -I "$REPO/probe" -o with.so linked.c -L "$REPO/build" -lisolprobe -Wl,-rpath,"$PWD"
	ln -s "$REPO/build/libisolprobe.so" libisolprobe.so.0
	local program
	for program in ./with.a ./with.so; do
		refute $program
		follow $program
		loaded
		"$CHISOL" -c 1 --probe=watch -r json:json $program
	done
	gcc -static -I "$REPO/probe" -o static.a linked.c "$REPO/build/libisolprobe.a" || skip "cannot link statically"
	follow ./static.a
	loaded
	threads '.looks_from_outside > 0'
}

@test "where the command's cpuset has no other CPU, chisol looks from outside, and says that" {
	((EUID == 0)) || skip "needs root"
	local set=/sys/fs/cgroup/cpuset/probethread-test
	mkdir $set 2>/dev/null || skip "needs cgroup v1"
	echo 1 >$set/cpuset.cpus
	cat /sys/fs/cgroup/cpuset/cpuset.mems >$set/cpuset.mems
	run sh -c "echo \$\$ >$set/tasks && exec \"\$@\"" sh \
		"$CHISOL" -c 1 --probe=thread -r json:json -r text:text "$HABITS" nobodys-enemy
	rmdir $set
	[ "$status" -eq 0 ]
	loaded
	threads '.library.looks == 0 and .looks_from_outside > 1'
	observed_by "found no CPU outside of the command's"
}

@test "an independent tracer sees the library's thread send nothing to the CPU, and never run on it" {
	((EUID == 0)) || skip "needs root"
	[ -z "$(unshare -m true 2>&1)" ] || skip "needs unshare -m"
	make -s -C "$REPO" build/tests/tools/observe
	local chisol tid
	"$CHISOL" -c 1 --probe=thread -r json:json "$HABITS" wait >out &
	chisol=$!
	await waiting
	sleep 1
	tid=$(grep -lx chisol-probe "/proc/$(pgrep -P $chisol habits)"/task/*/comm | sed 's|/comm$||; s|.*/||')
	[ "$tid" -gt 0 ]
	unshare -m sh -c 'mount -t tracefs none /mnt && TRACEFS=/mnt "$0" 1 "$1" 3' "$REPO/build/tests/tools/observe" "$tid" >seen
	kill $chisol
	wait $chisol || true
	cat seen
	[ "$(cat seen)" = $'sent 0\nran 0' ]
	loaded
	threads '.library.looks > 10'
}
