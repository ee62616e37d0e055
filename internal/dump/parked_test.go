// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/internal/dump/locks"
	"prywalk/internal/dump/stacks"
	"prywalk/internal/dump/text"
	"prywalk/internal/testtargets"
)

const hungGo = `package main

import (
	"os"
	"runtime"
	"sync"
	"time"
)

func main() {
	var mu sync.Mutex
	mu.Lock()
	c := make(chan int)
	for i := 0; i < 100; i++ {
		go func() { mu.Lock() }()
	}
	for i := 0; i < 20; i++ {
		go func() { c <- 1 }()
	}
	if len(os.Args) > 1 {
		time.Sleep(10 * time.Millisecond)
		runtime.GC()
		runtime.GC()
	}
	for {
		time.Sleep(time.Hour)
	}
}
`

func TestGoroutinesThatWaitAreCounted(t *testing.T) {
	type program struct {
		name, release string
		args          []string
	}
	programs := []program{{"symbols", "", nil}, {"stripped", "", stripped}, {"pie", "", []string{"-buildmode=pie"}},
		{"stripped pie", "", append([]string{"-buildmode=pie"}, stripped...)}}
	for _, r := range testtargets.GoReleases(t) {
		programs = append(programs, program{r + " stripped", r, stripped})
	}
	for _, c := range programs {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(buildHung(t, c.release, c.args...))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { cmd.Process.Kill(); cmd.Wait() }()
			const counted, reasons = "121 goroutines that wait are not shown (100 ", ", 20 chan send, 1 sleep)"
			text := ""
			for end := time.Now().Add(time.Minute); !strings.Contains(text, counted); time.Sleep(20 * time.Millisecond) {
				if text = textsOf(t, cmd.Process.Pid); time.Now().After(end) {
					t.Fatalf("no %q in\n%s", counted, text)
				}
			}
			if n, m := strings.Count(text, counted), strings.Count(text, reasons); n != 3 || m != 3 {
				t.Errorf("%d and %d times in\n%s", n, m, text)
			}
			if !strings.Contains(text, `"goroutines_waiting":{"count":121,"by_reason":{`) {
				t.Errorf("no goroutines_waiting in\n%s", text)
			}
		})
	}
}

func TestTheLongestWaitOfAGoroutineIsShownOnceCollectionsHaveSeenIt(t *testing.T) {
	cmd := exec.Command(buildHung(t, "", stripped...), "collect")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	text := ""
	dated := func() bool {
		return strings.Contains(text, `"longest_s":`) && strings.Contains(text, ", the longest for about ")
	}
	for end := time.Now().Add(time.Minute); !dated(); time.Sleep(20 * time.Millisecond) {
		if text = textsOf(t, cmd.Process.Pid); time.Now().After(end) {
			t.Fatalf("no longest_s in\n%s", text)
		}
	}
}

func TestGoroutinesThatWaitedAreCountedInACore(t *testing.T) {
	cmd := exec.Command(buildHung(t, "", stripped...))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	const all = "121 goroutines"
	for text, end := "", time.Now().Add(time.Minute); !strings.Contains(text, all); time.Sleep(20 * time.Millisecond) {
		if text = textsOf(t, cmd.Process.Pid); time.Now().After(end) {
			t.Fatalf("no %q in\n%s", all, text)
		}
	}
	p := Core(openCore(t, gcore(t, cmd.Process.Pid), ""), Options{MaxDepth: -1})
	if g := p.WaitingGoroutines; g == nil || g.Count != 121 || g.ByReason["chan send"] != 20 || g.Longest != 0 {
		t.Errorf("%+v, %q", g, p.WaitingText)
	}
}

var stripped = []string{"-ldflags=-s -w"}

func buildHung(t *testing.T, release string, args ...string) string {
	t.Helper()
	return buildGo(t, hungGo, release, args...)
}

func buildGo(t *testing.T, program, release string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	command, language := testtargets.GoCommand(release)
	for file, text := range map[string]string{"main.go": program, "go.mod": "module hung\n\ngo " + language + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command(command, append(append([]string{"build", "-o", "hung"}, args...), ".")...)
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if release != "" {
		build.Env = append(build.Env, testtargets.GoRelease(release)...)
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "hung")
}

func textsOf(t *testing.T, pid int) string {
	p := sampleOf(t, pid, -1)
	var b strings.Builder
	locks := &locks.Locks{Processes: []*stacks.Process{p}}
	for _, err := range []error{text.Write(&b, p), text.WriteMerged(&b, p), text.WriteLocks(&b, locks),
		stacks.WriteJSON(&b, p)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
