// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// Words of the shared memory (c/target.c).
const (
	readyWord     = 0
	gapsWord      = 1
	thresholdWord = 2
	slotWords     = 8
	gapWords      = 1024
	mostGaps      = 1 << 17
	sharedBytes   = 8 * (gapWords + 4*mostGaps)
)

type subject struct {
	cmd      *exec.Cmd
	pid      int
	shared   *os.File
	runners  []int
	sleepers []int
}

func (b *bench) startTarget(ctx context.Context, running, sleeping int) (*subject, error) {
	fd, err := unix.MemfdCreate("prywalk-ladder", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory to share with the target: %w", err)
	}
	s := &subject{shared: os.NewFile(uintptr(fd), "shared memory")}
	if err := s.shared.Truncate(sharedBytes); err != nil {
		s.shared.Close()
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, b.target, strconv.Itoa(running), strconv.Itoa(sleeping))
	s.cmd.ExtraFiles, s.cmd.Stderr = []*os.File{s.shared}, os.Stderr
	if err := s.cmd.Start(); err != nil {
		s.shared.Close()
		return nil, err
	}
	s.pid = s.cmd.Process.Pid
	if err := s.await(ctx, running, sleeping); err != nil {
		s.stop()
		return nil, fmt.Errorf("the target with %d running and %d sleeping threads: %w", running, sleeping, err)
	}
	return s, nil
}

const startLimit = 2 * time.Minute

func (s *subject) await(ctx context.Context, running, sleeping int) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	ready := func() (bool, error) {
		words, err := s.words(readyWord, 1)
		return err == nil && int(words[0]) == running+sleeping, err
	}
	if err := poll(ctx, ready); err != nil {
		return fmt.Errorf("its threads did not start: %w", err)
	}
	if err := s.sort(running); err != nil {
		return err
	}
	for _, tid := range s.sleepers {
		if err := poll(ctx, func() (bool, error) { return asleep(tid) }); err != nil {
			return fmt.Errorf("thread %d does not sleep: %w", tid, err)
		}
	}
	return nil
}

func (s *subject) sort(running int) error {
	words, err := s.words(slotWords, 8*running)
	if err != nil {
		return err
	}
	for i := range running {
		s.runners = append(s.runners, int(words[8*i]))
	}
	all, err := threadsOf(s.pid)
	s.sleepers = slices.DeleteFunc(all, func(tid int) bool { return slices.Contains(s.runners, tid) })
	return err
}

func poll(ctx context.Context, ask func() (bool, error)) error {
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func asleep(tid int) (bool, error) {
	var st procmem.Stat
	err := procmem.ReadStat(tid, &st)
	return st.State == 'S', err
}

func (s *subject) words(at, n int) ([]uint64, error) {
	buf := make([]byte, 8*n)
	if _, err := s.shared.ReadAt(buf, int64(8*at)); err != nil {
		return nil, err
	}
	words := make([]uint64, n)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(buf[8*i:])
	}
	return words, nil
}

func (s *subject) work() (uint64, error) {
	words, err := s.words(slotWords, 8*len(s.runners))
	var sum uint64
	for i := 1; i < len(words); i += 8 {
		sum += words[i]
	}
	return sum, err
}

func (s *subject) rate(ctx context.Context, window time.Duration) (float64, error) {
	begin := time.Now()
	before, err := s.work()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	length := time.Since(begin).Seconds()
	after, err := s.work()
	return float64(after-before) / length, err
}

func (s *subject) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.shared.Close()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
