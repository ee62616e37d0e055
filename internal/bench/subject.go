// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/bench/load"
)

// subject is a target that runs.
type subject struct {
	cell
	cmd  *exec.Cmd
	pids []int // the processes that do the work
	in   io.WriteCloser
	out  *bufio.Reader
}

// ErrAbsent is the error for a load that cannot be had on this machine.
var ErrAbsent = errors.New("not installed")

// stopWithin is how long a target may take to end.
const stopWithin = 10 * time.Second

// startSubject starts a target. It ends when its standard input does, and so with
// this process. dir is for its files.
func startSubject(ctx context.Context, dir string, c cell) (*subject, error) {
	cmd, err := c.Command(ctx, dir, c.Target)
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the workload: %w", err)
	}
	s := &subject{cell: c, cmd: cmd, in: in, out: bufio.NewReader(out)}
	line, err := s.out.ReadString('\n')
	if reason, ok := strings.CutPrefix(line, load.Absent); ok {
		s.stop()
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(reason), ErrAbsent)
	}
	if err == nil {
		err = s.ready(strings.TrimSpace(line))
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the workload with %d threads did not start: %q %w", c.Threads, line, err)
	}
	time.Sleep(c.Warm)
	return s, nil
}

// ready takes over what a load says of its processes.
func (s *subject) ready(line string) error {
	word, pids, _ := strings.Cut(line, " ")
	if word != load.Ready {
		return errors.New("it does not say that it is ready")
	}
	s.pids = []int{s.cmd.Process.Pid}
	if pids == "" {
		return nil
	}
	s.pids = s.pids[:0]
	for text := range strings.SplitSeq(pids, ",") {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		s.pids = append(s.pids, pid)
	}
	s.Threads = s.tasks()
	return nil
}

// ownProcess reports whether the work is done by the load's own process.
func (s *subject) ownProcess() bool { return s.pids[0] == s.cmd.Process.Pid }

// report asks what was done so far.
func (s *subject) report() (r load.Report, err error) {
	if _, err := io.WriteString(s.in, "?\n"); err != nil {
		return r, fmt.Errorf("the workload has ended: %w", err)
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return r, fmt.Errorf("the workload has ended: %w", err)
		}
		if line[0] == '{' { // what is loaded into it may print something, too
			return r, json.Unmarshal(line, &r)
		}
	}
}

// tasks gives the number of its threads, those of its runtime included.
func (s *subject) tasks() int {
	n := 0
	for _, pid := range s.pids {
		list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // gone: none
		n += len(list)
	}
	return n
}

func (s *subject) stop() {
	_ = s.in.Close() // its end is the workload's
	hangs := time.AfterFunc(stopWithin, func() { _ = s.cmd.Process.Kill() })
	defer hangs.Stop()
	_ = s.cmd.Wait()
}
