// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
)

func onTerminal(t *testing.T, dir string, columns int, env []string, args ...string) (text, stderr string, code int) {
	t.Helper()
	tty := testtargets.NewTerminal(t, columns)
	p := prepared(t, dir, nil, args...)
	p.Stdout = tty.Slave
	p.Env = append(p.Env, env...)
	p.begin(t)
	code = p.code(t)
	return tty.Text(), p.err.String(), code
}

func smallRecording(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	m := &profile.ModuleInfo{Start: 0x1000, End: 0x9000, Path: "/usr/bin/kvd"}
	b := profile.NewBuilder(profile.Meta{Start: time.Unix(1_700_000_000, 0), Period: 10 * time.Millisecond, Main: m})
	for i, name := range []string{"running", "sleeping"} {
		iv := profile.Interval{PID: 4711, TID: 4711, Comm: "kvd", Thread: "kvd", State: name, Samples: 100, Wall: 1e9,
			End:   1_700_000_000e9 + 1e9,
			Stack: b.Intern([]profile.Loc{{Module: m, Addr: 0x1000 + uint64(i)}, {Module: m, Addr: 0x1010}})}
		if i == 0 {
			iv.CPU = 1e9
		} else {
			iv.Wait = "futex"
		}
		b.Add(iv)
	}
	b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
	if err := b.WriteFile(filepath.Join(dir, "prywalk.pb.gz"), fixedNames{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

type fixedNames struct{}

func (fixedNames) Resolve(_ *profile.ModuleInfo, addr uint64) []profile.Frame {
	name := map[uint64]string{0x1000: "compress", 0x1001: "wait_for_work", 0x1010: "main"}[addr]
	if name == "" {
		name = "main"
	}
	return []profile.Frame{{Name: name, File: "/src/kvd.c", Line: 7, StartLine: 1}}
}

func TestFlagsWithoutEffectAreErrors(t *testing.T) {
	t.Parallel()
	dir := smallRecording(t)
	for _, c := range []struct {
		args, want string
	}{
		{"--tree --by thread", "--by has no effect with --tree"},
		{"--folded --by thread", "--by has no effect with --folded"},
		{"--folded -n 3", "-n (--rows) has no effect with --folded"},
		{"--full --by thread", "--full has no effect with --by"},
		{"--full --tree", "--full has no effect with --tree"},
		{"--html page.html --by thread", "--by has no effect with --html"},
		{"--pgo x --value wall", "--value has no effect with --pgo"},
		{"--account --value wall", "--value has no effect with --account"},
		{"--html page.html --tree", "--tree goes to stdout and --html to a file"},
		{"--tree --folded", "choose one of --tree and --folded"},
		{"--callers f --callees f", "choose one of --callers and --callees"},
		{"--html=", "--html has an empty value"},
		{"--by=", "--by has an empty value"},
		{"--callers=", "--callers has an empty value"},
		{"--source-dir .", "--source-dir has no effect with the table"},
		{"--from 3s --to 2s", "--from 3s is not before --to 2s"},
		{"--to 0s", "--to 0 leaves nothing"},
		{"--ci --tree", "--ci has no effect with --tree"},
		{"--ci --folded", "--ci has no effect with --folded"},
		{"--ci --html page.html", "--ci has no effect with --html"},
		{"--ci --account", "--ci has no effect with --account"},
		{"--no-idle", "--no-idle has no effect without --by wait"},
		{"--no-idle --by thread", "--no-idle has no effect without --by wait"},
		{"--state asleep", `--state "asleep": choose running, sleeping, disk or stopped`},
		{"--blame --value cpu", "--blame is about blocked time; leave out --value cpu or --blame"},
		{"-n 0", "--rows 0: give at least 1, or -1 for all"},
		{"-n -2", "--rows -2: give at least 1, or -1 for all"},
		{"--by color", `--by "color": choose thread, process, command, role, state, wait, lock, module, trace or label:NAME`},
		{"--value beauty", `no values of type "beauty"; it has samples, wall, runqueue, cpu, blocked`},
		{"--thread (", "not a regular expression"},
	} {
		p := start(t, dir, nil, append([]string{"report"}, strings.Fields(c.args)...)...)
		if code := p.code(t); code != errs.ExitUsage || p.out.String() != "" || strings.Count(p.err.String(), "\n") != 1 ||
			!strings.Contains(p.err.String(), c.want) {
			t.Errorf("report %s: exit code %d, want 2 and one line with %q: %q, %s", c.args, code, c.want, &p.out, &p.err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "page.html")); err == nil {
		t.Error("page.html was written")
	}
}

func TestFormsOfAReport(t *testing.T) {
	t.Parallel()
	dir := smallRecording(t)
	for _, c := range []struct {
		args, want string
	}{
		{"", "compress"},
		{"--by wait", "futex"},
		{"--value blocked", "wait_for_work"},
		{"--ci", "self%    ±"},
		{"--ci --json", `"within":{"self":0.`},
		{"--json", `"functions":[{"name":"compress"`},
		{"--json --tree", `"tree":{"name":"all"`},
		{"--json --by thread", `"groups":[{"name":"kvd (tid 4711)"`},
		{"--json -n 1 --value wall", `"value":"wall"`},
		{"--callers compress", "all of compress"},
		{"--callees main", "all of main"},
		{"--source compress", "/src/kvd.c"},
		{"--account", "100.0% named"},
		{"--wait futex --value wall", "1 of 2 intervals hidden by --wait"},
		{"--tree --from 0.5s", "500ms"},
		{"--folded --to 0.5s", "main;compress 500000000"},
		{"--folded --from 0 --to 0.5s", "main;compress 500000000"},
	} {
		p := start(t, dir, nil, append([]string{"report"}, strings.Fields(c.args)...)...)
		if code := p.code(t); code != 0 || !strings.Contains(p.out.String(), c.want) ||
			strings.Contains(p.out.String(), "\x1b") || p.err.String() != "" {
			t.Errorf("report %s: exit code %d, want 0 and %q: %s%s", c.args, code, c.want, &p.out, &p.err)
		}
	}
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	t.Parallel()
	dir := smallRecording(t)
	for _, c := range []struct {
		env     []string
		colours bool
	}{
		{[]string{"TERM=xterm", "NO_COLOR="}, true}, {[]string{"TERM=xterm", "NO_COLOR=1"}, false},
		{[]string{"TERM=dumb", "NO_COLOR="}, false},
	} {
		if text, _, _ := onTerminal(t, dir, 60, c.env, "report"); strings.Contains(text, "\x1b[") != c.colours {
			t.Errorf("%v: colours wanted: %v: %q", c.env, c.colours, text)
		}
	}
}

func TestProgressIsNotShownWithACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args     []string
		progress bool
	}{
		{[]string{"record", "-d", "2", "-p", burner(t)}, true},
		{[]string{"record", "--", "sh", "-c", "sleep 2"}, false},
	} {
		tty := testtargets.NewTerminal(t, 80)
		p := prepared(t, t.TempDir(), nil, c.args...)
		p.Stderr = tty.Slave
		p.begin(t)
		if code := p.code(t); code != 0 {
			t.Errorf("%v: exit code %d, want 0", c.args, code)
		}
		if text := tty.Text(); strings.Contains(text, "Ctrl-C ends") != c.progress ||
			!strings.Contains(text, "prywalk.pb.gz") {
			t.Errorf("%v: progress wanted: %v, and the closing line: %q", c.args, c.progress, text)
		}
	}
}
