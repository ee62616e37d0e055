package sampler

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
	"weak"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/profile"
	"prywalk/internal/symbols"
	"prywalk/internal/testtargets"
)

// TestProcessThatEndsBeforeItIsTakenOnLeavesNothingOpen: as most children of a shell script do.
func TestProcessThatEndsBeforeItIsTakenOnLeavesNothingOpen(t *testing.T) {
	sleeper, images := start(t, "sleepers", "1"), imagesOf(t)
	p := opened(t, images, []int{sleeper.pid})[0]
	s := New(Options{Freq: 99}, profile.NewBuilder(profile.Meta{}), images, []*code.Process{p})
	c, a := s.newTracer(), s.newAccountant()
	sleeper.signal(t, unix.SIGKILL)
	if _, err := unix.Wait4(sleeper.pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	c.admit(<-s.arrive)
	for i := range c.out.events {
		a.handle(&c.out.events[i])
	}
	if len(s.targets) != 0 || p.PidFD() >= 0 || len(a.procs) != 0 || len(c.procs) != 0 {
		t.Errorf("%d processes are open, pidfd %d; accounts of %d; %d are looked at", len(s.targets), p.PidFD(), len(a.procs),
			len(c.procs))
	}
}

func imagesOf(t *testing.T) *code.ImageCache {
	images := code.NewImageCache(0)
	t.Cleanup(func() { _ = images.Close() })
	return images
}

// TestUnwantedThreadsThatEndedAreForgotten: of what --threads leaves out only who lives is remembered.
func TestUnwantedThreadsThatEndedAreForgotten(t *testing.T) {
	var p threadList
	for tid := range 100 {
		p.refuse(tid, 1)
	}
	p.forgetUnwanted([]int{99, 7, 1000})
	if len(p.unwanted) != 2 || p.unwanted[7].since != 1 || p.unwanted[99].since != 1 {
		t.Errorf("%d are remembered: %v", len(p.unwanted), p.unwanted)
	}
}

// TestBirthsAndDeathsLeaveNothing: processes, threads, libraries, code made at run time and names come and go. What is
// left of those that ended is in the recording alone: no descriptor, no process, no rule cache, no module that is
// walked.
func TestBirthsAndDeathsLeaveNothing(t *testing.T) {
	const children = 300
	exe, err := testtargets.Compile("churn.c", "-O1", "-ldl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "100", t.TempDir(), strconv.Itoa(children))
	lines := bufio.NewScanner(testtargets.Ready(t, cmd))
	images := imagesOf(t)
	procs := opened(t, images, []int{cmd.Process.Pid})
	b := profile.NewBuilder(profile.Meta{Start: time.Now()})
	namer := symbols.NewNamer()
	defer namer.Close()
	s := New(Options{Freq: 499, Children: true, JITFuncs: namer.JITFuncs}, b, images, procs)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan Stats)
	before := descriptors(t)
	go func() { st, _ := s.Run(ctx); over <- st }()
	spaces := map[*code.Process]weak.Pointer[frames.Space]{}
	said := make(chan bool, 1)
	go func() { said <- lines.Scan() }()
	for done := false; !done; {
		select {
		case done = <-said:
		case <-time.After(2 * time.Millisecond):
		}
		s.mu.Lock()
		for p := range s.targets {
			spaces[p] = weak.Make(p.Space())
		}
		s.mu.Unlock()
	}
	await(t, "the end of all children's accounts", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.targets) == 1
	})
	// The parent's thread and process: the sampler's own files, and a few for the one process that is left.
	await(t, "few descriptors", func() bool { return descriptors(t) <= before+24 })
	if len(spaces) < children/20 {
		t.Errorf("only %d processes were met", len(spaces))
	}
	cancel()
	<-over
	kept := 0
	for range 3 {
		runtime.GC()
	}
	for p, space := range spaces {
		if space.Value() != nil && p != procs[0] {
			kept++
		}
	}
	// The walker has the one that it walked last.
	if kept > 1 {
		t.Errorf("%d of %d rule caches are kept", kept, len(spaces))
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(b)
}

// descriptors counts those of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestModulesThatAreGoneAreForgotten: only what is mapped has a shortcut, and it leads to nothing that walks need.
func TestModulesThatAreGoneAreForgotten(t *testing.T) {
	p := &processAccount{target: opened(t, imagesOf(t), []int{start(t, "sleepers", "1").pid})[0]}
	defer p.target.Close()
	u := newUnwinder(profile.NewBuilder(profile.Meta{}), 0)
	gone := &frames.Module{Start: 1, End: 2, Name: "gone", Sources: make([]frames.RuleSource, 1)}
	ref := u.module(p, gone).Data.(ModuleRef)
	if ref.Module.Name != "gone" || ref.Module.Sources != nil || ref.Module.Calls != nil {
		t.Errorf("%+v", ref.Module)
	}
	p.remapped = true
	here := p.target.Space().Modules()[0]
	u.module(p, here)
	if len(p.modules) != 1 || p.modules[here] == nil {
		t.Errorf("%d modules are remembered", len(p.modules))
	}
}
