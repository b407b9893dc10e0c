#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A user to whom a part of the cgroup v2 tree is delegated, as systemd does it for sessions: all above is root's.

load ../helpers
load guest

TREE=/sys/fs/cgroup
SESSION=$TREE/user.slice/user@1000.service
SCOPE=$SESSION/app.slice/x.scope
USER_RUN=/run/user/1000

setup() {
	[ -e $TREE/cgroup.controllers ] && grep -qw cpuset $TREE/cgroup.controllers || skip "no cpusets of v2 at $TREE"
	begin_test
	chmod 777 .
	had=$(<$TREE/cgroup.subtree_control)
	echo +cpuset >$TREE/cgroup.subtree_control
	mkdir -p $SCOPE $USER_RUN
	echo +cpuset >$TREE/user.slice/cgroup.subtree_control
	for group in $SESSION $SESSION/app.slice $SCOPE; do
		chown 1000:1000 $group $group/cgroup.procs $group/cgroup.threads $group/cgroup.subtree_control
	done
	chown 1000:1000 $USER_RUN
	chmod 700 $USER_RUN
}

teardown() {
	run_cleared
	as_user "$CHISOL" --restore || true
	rmdir $SCOPE $SESSION/app.slice $SESSION $TREE/user.slice
	[[ " $had " == *" cpuset "* ]] || echo -cpuset >$TREE/cgroup.subtree_control
	rm -rf $USER_RUN
	no_complaint
}

# as_user COMMAND...: in the session.
as_user() {
	(echo $BASHPID >$SCOPE/cgroup.procs && exec setpriv --reuid 1000 --regid 1000 --clear-groups "$@")
}

left_as_it_was() {
	[ -z "$(find $SESSION -name 'chisol-*')" ]
	[ -z "$(<$SESSION/cgroup.subtree_control)" ]
	[ "$(ls $USER_RUN/chisol)" = lock ]
}

@test "a user's run has its cpuset in the session, says so, and leaves nothing behind" {
	run -0 --separate-stderr as_user "$CHISOL" -c 2-3 -s cgroup.policy=require -r json:report.json \
		sh -c 'cat /proc/self/cgroup; sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status'
	[[ ${lines[0]} == 0::/user.slice/user@1000.service/chisol-*/hot ]]
	[ "${lines[1]}" = 2-3 ]
	jq -e '[.notes[] | select(.reason == "not-delegated" and (.text | contains("'$SESSION'")))] | length == 1' report.json
	left_as_it_was
}

@test "what is root's stays as it was, is refused where it is tried, and ends the launch where it is required" {
	run -0 as_user "$CHISOL" -c 2-3 -s cgroup.policy=require -s irq.policy=try -r json:report.json true
	[ "$(jq '[.settings[] | select(.facility == "irq" and .granted.state == "granted" and .reason != "already")] | length' report.json)" = 0 ]
	run -125 as_user "$CHISOL" -c 2-3 -s cgroup.partition=isolated -s cgroup.policy=require touch ran
	[ ! -e ran ]
	left_as_it_was
}

@test "a user's run that was killed is put back by the user" {
	as_user "$CHISOL" -c 2-3 -s cgroup.policy=require sh -c 'echo $$ $PPID >there; exec sleep 600' 3>&- &
	RUN=$!
	local command chisol
	eventually test -s there
	read -r command chisol <there
	PIDS+=("$command")
	kill -9 "$chisol"
	eventually ended "$command"
	run -1 as_user "$CHISOL" --status
	[[ $output == *", dead, "* ]]
	run -0 as_user "$CHISOL" --restore
	left_as_it_was
	run -0 "$CHISOL" --status
}

@test "a session without the cpuset controller is told what to ask for" {
	echo -cpuset >$TREE/user.slice/cgroup.subtree_control
	run -125 as_user "$CHISOL" -c 2-3 -s cgroup.policy=require touch ran
	[ ! -e ran ]
	[[ $(tr -s ' \n' ' ' <<<"$output") == *"delegated to chisol without the cpuset controller"*"Delegate=cpuset"* ]]
}
