// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"strings"
	"testing"
)

var messages = []struct {
	command string
	code    int
	message string // "": the status is the command's own
}{
	{"prywalk record", 2, "nothing to record: give -p PID or -n NAME, or a command after --"},
	{"prywalk record -p abc", 2, `--pid: "abc" is not a process number; see prywalk record --help`},
	{"prywalk record -p 999999999", 1, "process 999999999: no such process; check the number with ps or pgrep"},
	{"prywalk record -p 4711 -- true", 2, "give either -p or a command, not both"},
	{"prywalk record -p 4711 5s", 2, "give either -p or a command, not both"},
	{"prywalk record -F 0 -p 4711", 2,
		`--freq: "0" is not a frequency: give a rate in Hz from 1 to 10000; see prywalk record --help`},
	{"prywalk record -d 0 -p 4711", 2,
		`--duration: "0": a duration is above 0 and at most 1e9 seconds; see prywalk record --help`},
	{"prywalk record -d soon -p 4711", 2,
		`--duration: "soon" is not a duration: give seconds (30) or a number with a unit (30s, 2m, ` +
			"10min); see prywalk record --help"},
	{"prywalk record -- /no/such/command", 127,
		"cannot run /no/such/command: no such file or directory; check the path"},
	{"prywalk record -- sh -c 'sleep 0.2; exit 7'", 7, ""},
	{"prywalk record -- sh -c 'sleep 0.2; kill -9 $$'", 137, ""},
	{"prywalk record -o - -- true", 2,
		"-o - cannot be used with a command, whose own output goes to stdout; give a file"},
	{"prywalk report /etc", 1, "cannot read /etc: read /etc: is a directory; name a file in it"},
	{"prywalk report --symbols /etc/passwd", 1,
		"--symbols: /etc/passwd: not an ELF file; give an ELF file, the program with its symbols or its " +
			"debug file"},
	{"prywalk report --value beauty", 2,
		`the profile has no values of type "beauty"; it has samples, wall, runqueue, cpu, blocked`},
	{"prywalk report --by color", 2,
		`--by "color": choose thread, process, command, role, state, wait, lock, module, trace or label:NAME`},
	{"prywalk frobnicate", 2, `unknown command "frobnicate"; prywalk --help lists the commands`},
	{"prywalk recrod -p 4711", 2,
		`unknown command "recrod" (do you mean prywalk record?); prywalk --help lists the commands`},
	{"prywalk record --durration 3", 2,
		"unknown flag: --durration; see prywalk record --help"},
	{"prywalk dump --blame", 2, "unknown flag: --blame; see prywalk dump --help"},
	{"prywalk report -by wait", 2, "unknown shorthand flag: 'b' in -by; see prywalk report --help"},
	{"prywalk -p 4711", 2,
		"unknown shorthand flag: 'p' in -p; see prywalk --help"},
	{"prywalk report --tree --by thread", 2, "--by has no effect with --tree; leave one of them out"},
	{"prywalk report --html=", 2, "--html has an empty value; leave it out, or give one"},
	{"prywalk dump -n nobody.here", 1, `no process has the name "nobody.here"; ps -e lists what there is`},
	{"prywalk record --user nobody.here", 2,
		"--user nobody.here: there is no user of that name; getent passwd lists them"},
	{"prywalk schema none", 2,
		`no schema "none"; choose chains, changes, diff, doctor, dump, error, locks, report, slow, stats or top`},
	{"prywalk dump -n redis-serve", 1,
		`no process has the name "redis-serve"; ps -e lists what there is`},
	{"prywalk record -n nobody.here", 1,
		`no process has the name "nobody.here"; ps -e lists what there is, --wait waits for one`},
	{"prywalk record -- /etc/passwd", 126,
		"cannot run /etc/passwd: permission denied; check that it is a program, and its mode"},
	{"prywalk record -- no-such-command", 127,
		"cannot run no-such-command: no such command in $PATH; check the name, or give its path"},
	{"prywalk report none.pb.gz", 1,
		"open none.pb.gz: no such file or directory; make a recording with prywalk record, or name its file"},
	{"prywalk report /etc/passwd", 1,
		"cannot read /etc/passwd: not a pprof profile; name a recording, or make one with prywalk record -o FILE"},
	{"prywalk report /dev/null", 1,
		"cannot read /dev/null: the file is empty: the recording was not finished, or is elsewhere"},
	{"prywalk record -o /none/x.pb.gz -p 4711", 1,
		"cannot write /none/x.pb.gz: open /none: no such file or directory; give another place with -o"},
	{"prywalk record -d 1 -o /dev/full -p 4711", 1,
		"cannot write /dev/full: write profile: write /dev/full: no space left on device (free some space, " +
			"or choose another place with -o); the recording was not finished"},
	{"prywalk record -p 4711 -n redis-server", 2, "give either -p or -n, not both"},
	{"prywalk record -p 4712", 1,
		"process 4712: 4712 is a thread of process 4711 (redis-server); use -p 4711"},
	{"prywalk record --threads no-such -d 1 -p 4711", 4,
		"no samples: no thread matches --threads; check the regular expression"},
}

func TestErrorMessagesSayWhatToDo(t *testing.T) {
	s := newShell(t)
	if out, code := s.run(t, "prywalk record -d 1 -p "+examplePID); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for _, m := range messages {
		out, code := s.run(t, m.command)
		got, text := strings.TrimSpace(out), "prywalk: "+s.live(m.message)
		if code != m.code || m.message != "" && got != text {
			t.Errorf("%s: exit code %d, want %d\n got %q\nwant %q", m.command, code, m.code, got, text)
		}
	}
}
