// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// hostile sets a terminal's title, reverses the writing direction, and has control characters.
const hostile = "\x1b]0;o\a\u202e\n\u009b\xff"

func checkNoControls(t *testing.T, what, text string) {
	t.Helper()
	for at, rest := 0, text; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		bad := r == utf8.RuneError && n == 1 || r != '\n' && unicode.IsControl(r) ||
			unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
		if bad {
			t.Errorf("%s: control character %q after %q", what, rest[:n], text[max(0, at-60):at])
			return
		}
		at, rest = at+n, rest[n:]
	}
}

func hostileProgram(t *testing.T) *exec.Cmd {
	t.Helper()
	dir := filepath.Join(scratch(t, nil), hostile)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(scratch(t, nil), "plain")
	cc := exec.Command("gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-o", plain, "testdata/hostile.c")
	if out, err := bounded.AllOutput(cc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	code, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"evil_work_NN", "evil_wait_NN"} {
		bad := name[5:6] + hostile
		code = bytes.ReplaceAll(code, []byte(name), []byte(bad[:len(name)-1]+name[7:8]))
	}
	code = bytes.ReplaceAll(code, []byte("hostile.c"), []byte("ho\x1b\n\xffie.c"))
	exe := filepath.Join(dir, "pr\x1b[31m\n\xfe\u2066g")
	if err := testtargets.WriteExecutable(exe, code); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, hostile)
	testtargets.Ready(t, cmd)
	return cmd
}

func threadOf(t *testing.T, pid int) string {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	return all[len(all)-1].Name()
}

func textForms(file string) [][]string {
	forms := [][]string{{"report", file}, {"report", "--tree", file}, {"report", "--lines", file},
		{"report", "--folded", file},
		{"report", "--tree", "--lines", file}, {"report", "--focus", hostile, file},
		{"report", "--focus", "(" + hostile, file},
		{"report", "--value", hostile, file}, {"report", "--by", hostile, file}}
	for _, by := range []string{"thread", "process", "state", "wait", "module"} {
		forms = append(forms, []string{"report", "--by", by, file})
	}
	return forms
}

func TestNoCommandsTextHasControlCharacters(t *testing.T) {
	t.Parallel()
	cmd := hostileProgram(t)
	pid := strconv.Itoa(cmd.Process.Pid)
	dir := scratch(t, nil)
	file := filepath.Join(dir, "r"+hostile+".pb.gz")
	runs := [][]string{
		{"record", "-d", "1", "-p", pid, "-o", file},
		{"record", "-d", "1", "-p", threadOf(t, cmd.Process.Pid)},
		{"record", "-d", "1", "-p", pid, "--threads", "nobody" + hostile},
		{"record", "-p", hostile}, {"record", "-F", hostile}, {hostile}, {"record", "--" + hostile},
		{"record", "-p", pid, "-o", filepath.Join(dir, hostile, hostile)},
		{"record", "-d", "0.3", "--", cmd.Path + "none"},
		{"dump", "-p", pid}, {"dump", "--merge", "-p", pid}, {"dump", "--atomic", "-p", pid}, {"dump", "--json", "-p", pid},
		{"dump", "-p", threadOf(t, cmd.Process.Pid)}, {"dump", "--core", cmd.Path}, {"dump", "--core", hostile},
		{"doctor", "-p", pid}, {"doctor", "-p", threadOf(t, cmd.Process.Pid)},
		{"report", filepath.Join(dir, hostile)}, {"report", cmd.Path},
	}
	runs = append(append(runs, textForms(file)...), textForms(foreignProfile(t))...)
	all := ""
	for _, args := range runs {
		r := prywalk(t, args...)
		checkNoControls(t, strings.ToValidUTF8(fmt.Sprintf("%q: stdout", args), "?"), r.stdout)
		checkNoControls(t, fmt.Sprintf("%q: stderr", args), r.stderr)
		all += r.stdout
		if args[0] == "dump" && r.code == 0 && !strings.Contains(r.stdout, `\x1b]0;o\a\u202e\n`) && args[1] != "--json" {
			t.Errorf("%q: the thread's name is not in the text, with escapes:\n%s", args, clip(r.stdout))
		}
		if args[0] == "dump" && args[1] == "--json" {
			checkJSONNames(t, r.stdout)
		}
	}
	for _, name := range []string{`w\x1b]0;o\a\u202e\nr`, `w\x1b]0;o\a\u202e\ni`, `[31m\n\xfe\u2066g`,
		`ho\x1b\n\xffie.c`} {
		if !strings.Contains(all, name) {
			t.Errorf("no text has the escaped name %s", name)
		}
	}
	checkRecordingNames(t, file)
}

func checkJSONNames(t *testing.T, text string) {
	t.Helper()
	var p struct{ Threads []struct{ Name string } }
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	want := strings.ToValidUTF8(hostile, "\ufffd")
	for _, th := range p.Threads {
		if th.Name != want {
			t.Errorf("JSON: the thread's name is %q, want %q", th.Name, want)
		}
	}
}

func checkRecordingNames(t *testing.T, file string) {
	t.Helper()
	p := readProfile(t, file)
	seen := false
	check := func(s string) {
		if !utf8.ValidString(s) {
			t.Errorf("the recording has invalid UTF-8: %q", s)
		}
		seen = seen || strings.Contains(s, "\x1b]0;o\a\u202e")
	}
	for _, f := range p.Function {
		check(f.Name)
		check(f.SystemName)
		check(f.Filename)
	}
	for _, m := range p.Mapping {
		check(m.File)
		check(m.BuildID)
	}
	for _, s := range p.Sample {
		for _, values := range s.Label {
			for _, v := range values {
				check(v)
			}
		}
	}
	if !seen {
		t.Error("the recording does not have the unescaped names")
	}
	if out, err := bounded.AllOutput(exec.Command("go", "tool", "pprof", "-top", "-symbolize=none", file)); err != nil {
		t.Errorf("go tool pprof: %v: %s", err, out)
	}
}

func foreignProfile(t *testing.T) string {
	t.Helper()
	m := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, File: "/lib/" + hostile, BuildID: hostile,
		KernelRelocationSymbol: hostile}
	fn := &profile.Function{ID: 1, Name: "f" + hostile, SystemName: "s" + hostile, Filename: "d/" + hostile, StartLine: 3}
	named := &profile.Location{ID: 1, Mapping: m, Address: 0x1234, Line: []profile.Line{{Function: fn, Line: 4}}}
	bare := &profile.Location{ID: 2, Mapping: m, Address: 0x2345}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "a" + hostile, Unit: "u" + hostile},
			{Type: "b" + hostile, Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: hostile, Unit: hostile}, Period: 1, Comments: []string{"c" + hostile},
		DropFrames: hostile, DefaultSampleType: "a" + hostile, Mapping: []*profile.Mapping{m}, DocURL: hostile,
		Function: []*profile.Function{fn}, Location: []*profile.Location{named, bare},
	}
	for _, key := range []string{"comm", "thread", "state", "wait", hostile} {
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{3, 4}, Location: []*profile.Location{named, bare},
			Label: map[string][]string{key: {"l" + hostile}}, NumLabel: map[string][]int64{"pid": {1}, hostile: {2}},
			NumUnit: map[string][]string{hostile: {hostile}}})
	}
	p.DropFrames = ""
	file := filepath.Join(scratch(t, nil), "foreign.pb.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
	return file
}
