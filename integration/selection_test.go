// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func burner(t *testing.T, exe string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(exe, "-c", "echo ready; while :; do :; done")
	testtargets.Ready(t, cmd)
	return cmd
}

func TestSelectedProcessesComeAndGo(t *testing.T) {
	t.Parallel()
	dir := scratch(t, nil)
	shell := testtargets.NeedProgram(t, "dash")
	text, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	exe, other := filepath.Join(dir, "chosen-one"), filepath.Join(dir, "not-that")
	for _, name := range []string{exe, other} {
		if err := testtargets.WriteExecutable(name, text); err != nil {
			t.Fatal(err)
		}
	}
	first, third := burner(t, exe), burner(t, other)
	r := startRecording(t, nil, "--match", "^chosen-on")
	cpu := func(p *profile.Profile, pid int) (ns int64) {
		for _, s := range p.Sample {
			if s.NumLabel["pid"][0] == int64(pid) {
				ns += s.Value[cpuColumn]
			}
		}
		return ns
	}
	r.until("the first process", func(p *profile.Profile) bool { return cpu(p, first.Process.Pid) > 0 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	second := burner(t, exe)
	r.until("the second process", func(p *profile.Profile) bool { return cpu(p, second.Process.Pid) > 0 })
	got := r.finish()
	if ns := cpu(got.Profile, third.Process.Pid); ns != 0 {
		t.Errorf("a process that is not selected has %d ns of CPU time", ns)
	}
}

func TestSelectedProcessesThatMayNotBeReadAreCounted(t *testing.T) {
	needRoot(t, "run as another user")
	needOwnTracing(t)
	user := ordinary()
	dir := scratch(t, user)
	testtargets.Run(t, "c", testtargets.Options{User: user})
	stats := filepath.Join(dir, "stats.json")
	out := filepath.Join(dir, "out.pb.gz")
	command{user: user, args: []string{"record", "-a", "-d", "1", "-o", out, "--stats", stats}}.run(t).must(t, 0)
	text, err := os.ReadFile(stats)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Samples int64
		Refused map[string]int64 `json:"processes_refused"`
	}
	if err := json.Unmarshal(text, &s); err != nil || s.Samples == 0 || s.Refused["denied"] == 0 {
		t.Errorf("want samples and refused processes: %+v %v", s, err)
	}
	for _, args := range [][]string{{"record", "-d", "1"}, {"dump"}, {"dump", "--locks"}} {
		r := command{user: user, args: append(args, "--user", "root")}.run(t).must(t, 3)
		if r.oneLine(t, "none of", "selected processes could be read"); strings.Count(r.stderr, "setcap") > 1 {
			t.Errorf("%q: more than one remedy: %s", args, r.stderr)
		}
	}
}

func TestRulesThatSelectNothingOrAreInvalidAreErrors(t *testing.T) {
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{1, []string{"record", "--match", "^no such process$"}, "no process is selected by --match"},
		{1, []string{"dump", "--unit", "no-such-unit"}, "--unit no-such-unit.service"},
		{2, []string{"record", "--match", "("}, "--match"},
		{2, []string{"top", "--user", "no such user"}, "there is no user of that name"},
		{2, []string{"record", "-a", "-p", "1"}, "give either -p or -n, or what selects"},
		{2, []string{"record", "-a", "--", "true"}, "or a command, not both"},
		{2, []string{"dump", "--cgroup", "["}, "--cgroup"},
	} {
		prywalk(t, c.args...).must(t, c.code).oneLine(t, strings.ToLower(c.want))
	}
}
