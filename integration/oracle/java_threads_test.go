// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/walk/callstack"

	"prywalk/internal/testtargets"
)

// threadOptions give HotSpot's objects different layouts. Unknown options are ignored.
var threadOptions = []struct {
	name    string
	options []string
}{
	{"G1", []string{"-XX:+UseG1GC"}},
	{"serial, wide references", []string{"-XX:+UseSerialGC", "-XX:-UseCompressedOops"}},
	{"parallel, wide classes", []string{"-XX:+UseParallelGC", "-XX:-UseCompressedClassPointers"}},
	{"compact headers", []string{"-XX:+UseCompactObjectHeaders"}},
	{"Shenandoah", []string{"-XX:+UseShenandoahGC"}},
	{"ZGC", []string{"-XX:+UseZGC"}},
}

// There is no answer while all threads are stopped for a collection.
const threadQueries = 400

func TestJavaThreadNamesMatchTheProgram(t *testing.T) {
	list := javas(t)
	dir, _ := compileJava(t, "Threads")
	for _, java := range list {
		for _, o := range testtargets.First(threadOptions) {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(java)))+"/"+o.name, func(t *testing.T) {
				options := append([]string{"-Xmx128m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UnlockExperimentalVMOptions"},
					o.options...)
				checkThreadNames(t, append(append([]string{java}, options...), "-cp", dir, "Threads"))
			})
		}
	}
}

func checkThreadNames(t *testing.T, argv []string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the program's standard error: %.2000s", stderr.String())
		}
	}()
	hung := time.AfterFunc(dumpPatience, func() { _ = cmd.Process.Kill() })
	names := reportedThreads(bufio.NewScanner(out))
	hung.Stop()
	if len(names) != 25 {
		t.Fatalf("the program reported %d threads, want 25: %v", len(names), names)
	}
	p, err := loadedcode.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	queries, known, answered := 0, 0, map[int]bool{}
	end := time.Now().Add(dumpPatience)
	for i := 0; i < threadQueries || len(answered) < len(names) && time.Now().Before(end); i++ {
		if _, err := p.Refresh(); err != nil {
			t.Fatal(err)
		}
		for tid, want := range names {
			name, ok := callstack.ThreadName(p.Runtimes().FrameSources(), tid)
			queries++
			switch {
			case !ok:
				continue
			case name != want && (want != "one of two names" || name != "the other of two names"):
				t.Fatalf("thread %d has the name %q, want %q", tid, name, want)
			}
			known++
			answered[tid] = true
		}
		time.Sleep(time.Millisecond) // another moment of the collector
	}
	t.Logf("%d of %d queries had an answer, none a wrong one", known, queries)
	if p.Runtimes().Incomplete() != nil || len(answered) < len(names) {
		t.Errorf("%d of %d threads had a name, want all: %v", len(answered), len(names), p.Runtimes().Incomplete())
	}
	if name, ok := callstack.ThreadName(p.Runtimes().FrameSources(), cmd.Process.Pid); ok {
		t.Errorf("the launcher's thread runs no Java, but has the Java name %q", name)
	}
}

func reportedThreads(s *bufio.Scanner) map[int]string {
	names := map[int]string{}
	for s.Scan() && (s.Text() != "ready" || len(names) < 25) {
		var tid int
		if n, err := fmt.Sscanf(s.Text(), "thread %d", &tid); n == 1 && err == nil {
			_, names[tid], _ = strings.Cut(strings.TrimPrefix(s.Text(), "thread "), " ")
		}
		if len(names) == 25 {
			break
		}
	}
	return names
}
