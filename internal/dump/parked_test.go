// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/dump/locks"
	"prywalk/internal/dump/stacks"
	"prywalk/internal/dump/text"
	"prywalk/internal/testtargets"
)

const hungGo = `package main

import (
	"bytes"
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
		all := make([]byte, 1<<20)
` + untilAllWait + `		runtime.GC()
		runtime.GC()
	}
	os.Stdout.WriteString("ready\n")
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
	if !testtargets.All() {
		programs = programs[:2]
	}
	for _, c := range programs {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(buildHung(t, c.release, c.args...))
			testtargets.Ready(t, cmd)
			const counted, reasons = "121 goroutines that wait are not shown (100 ", ", 20 chan send, 1 sleep)"
			text := textsOf(t, cmd.Process.Pid)
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
	testtargets.Ready(t, cmd)
	if text := textsOf(t, cmd.Process.Pid); !strings.Contains(text, `"longest_s":`) {
		t.Errorf("no longest wait in\n%.2000s", text)
	}
	testtargets.Eventually(t, "the text says the longest wait, once it is long", func() bool {
		return strings.Contains(textsOf(t, cmd.Process.Pid), ", the longest for about ")
	})
}

func TestGoroutinesThatWaitedAreCountedInACore(t *testing.T) {
	cmd := exec.Command(buildHung(t, "", stripped...))
	testtargets.Ready(t, cmd)
	if text := textsOf(t, cmd.Process.Pid); !strings.Contains(text, "121 goroutines") {
		t.Errorf("not 121 goroutines in\n%s", text)
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
	t.Helper()
	p := stillSample(t, pid)
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
