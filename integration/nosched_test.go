// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"prywalk/internal/testtargets"
)

// withoutSched runs a command where a process's directories in /proc have no file sched, as on a kernel without
// CONFIG_SCHED_DEBUG before Linux 6.15: it puts directories in their place whose files are the process's others.
const withoutSched = `
process=$1 dir=$2
shift 2
mount -t tmpfs tmpfs "$dir"
others() {
	mkdir -p "$2"
	for file in "$1"/*; do
		to=$2/${file##*/}
		case $to in */task | */sched) continue ;; esac
		if [ -L "$file" ]; then
			ln -s "$(readlink "$file")" "$to"
			continue
		elif [ -d "$file" ]; then
			mkdir "$to"
		else
			: >"$to"
		fi
		mount --bind "$file" "$to"
	done
}
others "$process" "$dir/process"
for thread in "$process"/task/*; do
	others "$thread" "$dir/process/task/${thread##*/}"
done
mount --rbind "$dir/process" "$process"
for task in "$process"/task/*; do
	! [ -e "$task/sched" ] || { echo "$task has a file sched" >&2; exit 9; }
	[ -e "$task/schedstat" ] || { echo "$task has no file schedstat" >&2; exit 9; }
done
exec "$@"`

// Without this file it is not known whether a runnable thread is on a CPU, nor which one the tracer has preempted.
func TestThreadsAreStoppedWithoutTheFileSched(t *testing.T) {
	t.Parallel()
	needRoot(t, "mount")
	testtargets.NeedProgram(t, "unshare")
	file := filepath.Join(scratch(t, nil), "app/server")
	mustRun(t, []string{"install", "-D", serverProgram(t), file})
	server := testtargets.Child(t, exec.Command(file))
	testtargets.Asleep(t, server.Process.Pid)
	pid := strconv.Itoa(server.Process.Pid)
	for name, priority := range map[string][]string{
		"raised":   nil,
		"ordinary": {"setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := scratch(t, nil)
			run := func(args ...string) result {
				args = slices.Concat([]string{"--mount", "sh", "-ec", withoutSched, "sh", "/proc/" + pid,
					filepath.Join(dir, "proc")}, priority, []string{binary}, args)
				return command{exe: "unshare", args: args, dir: dir}.run(t).must(t, 0)
			}
			mustRun(t, []string{"mkdir", filepath.Join(dir, "proc")})
			namesOf(t, run("dump", "--json", "-p", pid).stdout)
			file := filepath.Join(dir, "r.pb.gz")
			eventually(t, "stops of the thread that computes", func() bool {
				run("record", "--engine", "ptrace", "--max-overhead", "off", "-p", pid, "-d", "1", "-o", file)
				stops := 0
				for _, s := range readProfile(t, file).Sample {
					names := []string{}
					for _, l := range s.Location {
						names = append(names, l.Line[0].Function.Name)
					}
					if slices.Contains(names, "computes") && s.Label["state"][0] == "running" {
						stops += int(s.Value[0])
					}
				}
				return stops >= 20
			})
		})
	}
}
