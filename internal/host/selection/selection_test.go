// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"prywalk/internal/testtargets"
)

func fake(t *testing.T, root string, pid int, start uint64, comm, command, groups string, uid int) {
	t.Helper()
	dir := filepath.Join(root, strconv.Itoa(pid))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"comm": comm + "\n", "cmdline": command, "cgroup": groups,
		"status": fmt.Sprintf("Name:\t%s\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nUid:\t0\t%d\t0\t0\n",
			comm, pid, pid, uid),
		"stat": fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0", pid, comm, start),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	v2       = "0::/system.slice/nginx.service\n"
	v1       = "4:memory:/kubepods/pod1/abc\n1:name=systemd:/system.slice/db@1.service\n"
	userUnit = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/editor.service\n"
)

func find(t *testing.T, root string, all bool, cgroup, unit, owner, match string) []int {
	t.Helper()
	r, err := New(Criteria{All: all, Cgroup: cgroup, Unit: unit, User: owner, Match: match})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFinder(r)
	f.root = root
	return f.Find(1 << 30)
}

func TestRulesSelectProcesses(t *testing.T) {
	root := t.TempDir()
	fake(t, root, 10, 5, "nginx", "nginx: worker process", v2, 33)
	fake(t, root, 11, 5, "postgres", "/usr/lib/postgresql/15/bin/postgres\x00-D\x00data", v1, 70)
	fake(t, root, 12, 5, "editor", "/opt/editor/bin/start\x00x", userUnit, 1000)
	fake(t, root, 13, 5, "kworker/0:1", "", "0::/\n", 0)
	if err := os.Symlink("/opt/editor/bin/editor-real", filepath.Join(root, "12", "exe")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		all                        bool
		cgroup, unit, owner, match string
		want                       []int
	}{
		{all: true, want: []int{10, 11, 12}},
		{cgroup: "/system.slice/nginx.service", want: []int{10}},
		{cgroup: "system.slice", want: []int{10, 11}},
		{cgroup: "/sys/fs/cgroup/system.slice/*", want: []int{10, 11}},
		{cgroup: "/sys/fs/cgroup/memory/kubepods", want: []int{11}},
		{cgroup: "/kubepods/pod?", want: []int{11}},
		{cgroup: "/system.slice/ngin"},
		{cgroup: "/", want: []int{10, 11, 12}},
		{unit: "nginx", want: []int{10}},
		{unit: "nginx.service", want: []int{10}},
		{unit: "db@*.service", want: []int{11}},
		{unit: "editor", owner: "1000", want: []int{12}},
		{unit: "editor"}, // another user's: it has any name that user gives
		{unit: "app.slice", owner: "1000", want: []int{12}},
		{unit: "system.slice", want: []int{10, 11}},
		{unit: "user@1000", want: []int{12}},
		{owner: "33", want: []int{10}},
		{owner: "0"},
		{match: "^nginx$", want: []int{10}},
		{match: "postgres|start", want: []int{11, 12}},
		{match: "editor-real", want: []int{12}},
		{match: "data"}, // an argument
		{cgroup: "/system.slice", match: "gres", want: []int{11}},
		{unit: "nginx", owner: "70"},
	} {
		if got := find(t, root, c.all, c.cgroup, c.unit, c.owner, c.match); !slices.Equal(got, c.want) {
			t.Errorf("%+v selects %v", c, got)
		}
	}
}

func TestGroupsThatOnlyHaveTheNameOfAUnitAreNotSelected(t *testing.T) {
	root := t.TempDir()
	fake(t, root, 10, 5, "nginx", "nginx", v2, 33)
	for i, group := range []string{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service",
		"0::/user.slice/user-1000.slice/session-3.scope/nginx.service",
		"0::/system.slice/docker.service/nginx.service", "0::/nginx.service.d/nginx.service",
		"5:cpu:/nginx.service\n0::/system.slice/cron.service", "0::/../nginx.service", "0::/", "0::",
	} {
		fake(t, root, 20+i, 5, "fake", "fake", group+"\n", 1000)
	}
	for _, unit := range []string{"nginx", "ngin?.service"} {
		if got := find(t, root, false, "", unit, "", ""); !slices.Equal(got, []int{10}) {
			t.Errorf("--unit %s selects %v, want the service alone", unit, got)
		}
	}
	if got := find(t, root, false, "", "nginx", "1000", ""); !slices.Equal(got, []int{20}) {
		t.Errorf("--unit nginx --user 1000 selects %v, want that user's unit", got)
	}
}

func TestTheFirstWordOfATitleIsAName(t *testing.T) {
	root := t.TempDir()
	fake(t, root, 10, 5, "gunicorn: maste", "gunicorn: master [app]", v2, 33)
	fake(t, root, 11, 5, "starman worker ", "starman worker --listen :80\x00\x00", v2, 33)
	fake(t, root, 12, 5, "x", "/opt/My App/x", v2, 33)
	fake(t, root, 13, 5, "sh", "gunicorn: a file\x00y", v2, 33)
	for match, want := range map[string][]int{"^gunicorn$": {10}, "^starman$": {11}, "^/?opt|My$": nil, "^x$": {12}} {
		if got := find(t, root, false, "", "", "", match); !slices.Equal(got, want) {
			t.Errorf("%s selects %v, want %v", match, got, want)
		}
	}
}

func TestRulesThatAreNone(t *testing.T) {
	for _, o := range []Criteria{{Cgroup: "/a/["}, {Unit: "a/b"}, {Unit: "["}, {User: "no such user"}, {Match: "("}} {
		if r, err := New(o); err == nil {
			t.Errorf("%+v is %v", o, r)
		}
	}
}

// A shell that was forked becomes what it executes.
func TestProcessesAreReadAgainWhileTheyAreYoung(t *testing.T) {
	root := t.TempDir()
	r, err := New(Criteria{Match: "^redis$"})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFinder(r)
	f.root = root
	fake(t, root, 20, 100, "sh", "sh", v2, 0)
	if got := f.Find(101); got != nil {
		t.Fatalf("a shell: %v", got)
	}
	fake(t, root, 20, 100, "redis", "redis", v2, 0)
	if got := f.Find(102); !slices.Equal(got, []int{20}) {
		t.Errorf("after exec: %v", got)
	}
	fake(t, root, 20, 100, "main-thread", "redis-2", v2, 0)
	if got := f.Find(200 + youngTicks); !slices.Equal(got, []int{20}) {
		t.Errorf("renamed: %v", got)
	}
	fake(t, root, 21, 100, "sh", "sh", v2, 0)
	f.Find(200 + youngTicks)
	fake(t, root, 21, 100, "redis", "redis", v2, 0)
	later := false
	for range rereadTurns {
		later = later || slices.Contains(f.Find(300+youngTicks), 21)
	}
	if !later {
		t.Errorf("an old process that has become another one was not found in %d questions", rereadTurns)
	}
	if err := os.RemoveAll(filepath.Join(root, "20")); err != nil {
		t.Fatal(err)
	}
	if got := f.Find(400 + youngTicks); slices.Contains(got, 20) {
		t.Errorf("after its end: %v", got)
	}
}

func TestANumberThatIsUsedAgainIsAnotherProcess(t *testing.T) {
	for _, all := range []bool{false, true} {
		for _, match := range []string{"", "^redis$"} {
			root := t.TempDir()
			r, err := New(Criteria{All: all, User: "33", Match: match})
			if err != nil {
				t.Fatal(err)
			}
			f := NewFinder(r)
			f.root = root
			fake(t, root, 20, 100, "redis", "redis", v2, 33)
			if got := f.Find(101); !slices.Equal(got, []int{20}) {
				t.Fatalf("%s: redis: %v", r, got)
			}
			fake(t, root, 20, 300+youngTicks, "sh", "sh", v2, 0)
			if got := f.Find(301 + youngTicks); got != nil {
				t.Errorf("%s: a shell of root with its number: %v", r, got)
			}
		}
	}
}

// A host has hundreds of kernel threads, which have no command line.
func TestProcessesWithoutACommandLineAreRememberedAsWell(t *testing.T) {
	root := t.TempDir()
	r, err := New(Criteria{All: true})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFinder(r)
	f.root = root
	fake(t, root, 2, 1, "kthreadd", "", v2, 0)
	if got := f.Find(200 + youngTicks); got != nil {
		t.Errorf("selected: %v", got)
	}
	if c, known := f.seen[2]; !known || c.selected || c.start != 1 {
		t.Errorf("after the first question: %+v, %v", c, known)
	}
	fake(t, root, 2, 1, "init", "init", v2, 0)
	later := false
	for range rereadTurns {
		later = later || slices.Contains(f.Find(300+youngTicks), 2)
	}
	if !later {
		t.Errorf("a command line that came later was not found in %d questions", rereadTurns)
	}
}

func FuzzGroups(f *testing.F) {
	for _, text := range []string{v1, v2, userUnit, "0::/../../x\n", "::", "0::x"} {
		f.Add(text, "/system.slice/*", "a*.service")
	}
	f.Fuzz(func(t *testing.T, text, group, unit string) {
		r, err := New(Criteria{Cgroup: group, Unit: unit})
		if err != nil {
			return
		}
		if all, _ := New(Criteria{All: true}); !all.inGroups(text) {
			t.Error("no rule refuses a process")
		}
		_ = r.inGroups(text)
	})
}

func TestAProgramThatTheDynamicLoaderRunsHasItsName(t *testing.T) {
	testtargets.NeedProgram(t, "ld.so") // glibc 2.34 on
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ld.so", "--library-path", "/none", sleep, "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	// Start returns when the exec closes its files, which is before it sets the command line (fs/exec.c, fs/binfmt_elf.c).
	testtargets.Eventually(t, "the program that the loader runs is one of the names", func() bool {
		p, ok := ReadProcess("/proc", cmd.Process.Pid)
		return ok && slices.Contains(p.Others, "sleep")
	})
}
