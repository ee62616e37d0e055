// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"context"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
	"weak"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/account/runstats"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
)

func TestProcessThatEndsBeforeItIsTakenOnLeavesNothingOpen(t *testing.T) {
	sleeper, images := start(t, "sleepers", "1"), imagesOf(t)
	p := opened(t, images, []int{sleeper.pid})[0]
	s := New(target.SamplingOptions{Freq: 99}, profile.NewBuilder(profile.Meta{}), images, []*loadedcode.Process{p})
	sleeper.signal(t, unix.SIGKILL)
	if _, err := unix.Wait4(sleeper.pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if len(s.targets) != 0 || p.PidFD() >= 0 {
		t.Errorf("%d processes are open, pidfd %d", len(s.targets), p.PidFD())
	}
}

func imagesOf(t *testing.T) *loadedcode.ImageCache {
	images := loadedcode.NewImageCache(0)
	t.Cleanup(func() { _ = images.Close() })
	return images
}

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
	s := New(target.SamplingOptions{Freq: 499, Children: true, JITFuncBounds: namer.JITFuncBounds}, b, images, procs)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan runstats.Stats)
	before := testtargets.Descriptors(t)
	go func() { st, _ := s.Run(ctx); over <- st }()
	spaces := map[*loadedcode.Process]weak.Pointer[frames.Space]{}
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
	// The parent's thread and process, and the sampler's files.
	await(t, "few descriptors", func() bool { return testtargets.Descriptors(t) <= before+24 })
	if len(spaces) < children/20 {
		t.Errorf("only %d processes were observed", len(spaces))
	}
	cancel()
	bounded.Receive(t, "the recording ends", over)
	kept := 0
	for range 3 {
		runtime.GC()
	}
	for p, space := range spaces {
		if space.Value() != nil && p != procs[0] {
			kept++
		}
	}
	if kept > 1 {
		t.Errorf("%d of %d rule caches are kept", kept, len(spaces))
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(b)
}
