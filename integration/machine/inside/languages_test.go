// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

// commandOf is a program of a language whose busy thread runs outer, inner and spin.
func commandOf(t *testing.T, language string) *exec.Cmd {
	t.Helper()
	text, err := os.ReadFile(program(t, "languages"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == language {
			return exec.Command(words[1], words[2:]...)
		}
	}
	t.Fatalf("%s is not installed where the machine is made: %s", language, testtargets.SetUp)
	return nil
}

// locksOf are the functions of a lock's waiter and owner.
var locksOf = map[string][]string{
	"java":   {"Load.waitForMonitor", "Load.hold", "\n  held by "},
	"python": {"wait_for_lock", "outer", "\n  held by "},
}

func TestFunctionsOfManagedLanguagesHaveTheirNames(t *testing.T) {
	onKernels(t)
	for _, language := range []string{"python", "node", "java"} {
		for user, uid := range map[string]int{"root": 0, "user": nobody} {
			t.Run(language+"/"+user, func(t *testing.T) { namesAreRight(t, language, uid) })
		}
	}
}

func namesAreRight(t *testing.T, language string, uid int) {
	cmd := commandOf(t, language)
	cmd.Dir = "/tmp"
	p := started(t, cmd, asUser(uid))
	pid := strconv.Itoa(p.pid)
	d := dumpOf(t, p.pid)
	if !slices.ContainsFunc(d.Threads, func(thread stacks.Thread) bool {
		return slices.ContainsFunc(thread.Frames, func(f stacks.Frame) bool { return isNamed("outer")(f.Function) })
	}) {
		t.Errorf("no thread of the dump is in outer: %+v", d.Threads)
	}
	if lock := locksOf[language]; lock != nil {
		runAs(t, uid, "dump", "--locks", "--max-pause", "off", "-p", pid).must(t, 0, lock...)
	}
	recordedUntil(t, 4, func(prof *profile.Profile) bool {
		through, total := cpuThroughOuter(prof)
		t.Logf("%d of %d ns of CPU time with stacks are through outer", through, total)
		return through > 0
	}, "-F", "19", "-p", pid)
}

func cpuThroughOuter(prof *profile.Profile) (through, total int64) {
	clock := slices.IndexFunc(prof.SampleType, func(v *profile.ValueType) bool { return v.Type == "cpu" })
	for _, s := range prof.Sample {
		names, cpu := stackOf(s), s.Value[clock]
		if cpu == 0 || len(names) == 0 || strings.HasPrefix(names[0], "[") {
			continue
		}
		total += cpu
		if slices.ContainsFunc(names, isNamed("outer")) {
			through += cpu
		}
	}
	return through, total
}

// isNamed recognizes outer, Load.outer and the like.
func isNamed(function string) func(string) bool {
	return func(name string) bool { return name == function || strings.HasSuffix(name, "."+function) }
}
