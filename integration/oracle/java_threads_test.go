package oracle

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/internal/callstack"
	"prywalk/internal/code"
)

// threadOptions are ways to run Threads.java that objects differ in. What a release does not know is ignored. least is
// the share of questions that must have an answer: while threads stand for a collection there is none that is new.
var threadOptions = []struct {
	name    string
	options []string
	least   float64
}{
	{"G1", []string{"-XX:+UseG1GC"}, 0.9},
	{"serial, wide references", []string{"-XX:+UseSerialGC", "-XX:-UseCompressedOops"}, 0.9},
	{"parallel, wide classes", []string{"-XX:+UseParallelGC", "-XX:-UseCompressedClassPointers"}, 0.9},
	{"compact headers", []string{"-XX:+UseCompactObjectHeaders"}, 0.9},
	{"Shenandoah", []string{"-XX:+UseShenandoahGC"}, 0.9},
	{"ZGC", []string{"-XX:+UseZGC"}, 0},
}

// threadQuestions is how often each thread's name is asked for.
const threadQuestions = 400

// TestJavaThreadsAreCalledAsTheProgramDoes asks for the names of threads while objects are moved, threads come and go,
// and one changes its name all the time.
func TestJavaThreadsAreCalledAsTheProgramDoes(t *testing.T) {
	list := javas(t)
	dir, _ := compileJava(t, "Threads")
	for _, java := range list {
		for _, o := range threadOptions {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(java)))+"/"+o.name, func(t *testing.T) {
				options := append([]string{"-Xmx128m", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UnlockExperimentalVMOptions"}, o.options...)
				askThreads(t, o.least, append(append([]string{java}, options...), "-cp", dir, "Threads"))
			})
		}
	}
}

// askThreads runs the program and asks.
func askThreads(t *testing.T, least float64, argv []string) {
	cmd := exec.Command(argv[0], argv[1:]...)
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
	}()
	names := toldThreads(bufio.NewScanner(out))
	if len(names) != 25 {
		t.Fatalf("the program told %d threads: %v", len(names), names)
	}
	p, err := code.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	asked, known := 0, 0
	for range threadQuestions {
		if _, err := p.Refresh(); err != nil {
			t.Fatal(err)
		}
		for tid, want := range names {
			name, ok := callstack.ThreadName(p.Namers(), tid)
			asked++
			switch {
			case !ok:
				continue
			case name != want && (want != "one of two names" || name != "the other of two names"):
				t.Fatalf("thread %d is called %q, want %q", tid, name, want)
			}
			known++
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("%d of %d questions had an answer, none a wrong one", known, asked)
	if p.Unknown() != nil || float64(known) < least*float64(asked) {
		t.Errorf("%d of %d questions had an answer: %v", known, asked, p.Unknown())
	}
	if name, ok := callstack.ThreadName(p.Namers(), cmd.Process.Pid); ok {
		t.Errorf("the launcher's thread runs no Java and is called %q", name)
	}
}

// toldThreads reads what the program says of its threads.
func toldThreads(s *bufio.Scanner) map[int]string {
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
