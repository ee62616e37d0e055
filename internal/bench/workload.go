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

type workload struct {
	cell
	cmd  *exec.Cmd
	pids []int // those that work
	in   io.WriteCloser
	out  *bufio.Reader
}

// ErrAbsent means that a load is not available here.
var ErrAbsent = errors.New("not installed")

const stopWithin = 10 * time.Second

// startWorkload starts a target, which ends when its standard input closes, so with this process.
func startWorkload(ctx context.Context, dir string, c cell) (*workload, error) {
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
	s := &workload{cell: c, cmd: cmd, in: in, out: bufio.NewReader(out)}
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

func (s *workload) ready(line string) error {
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

func (s *workload) ownProcess() bool { return s.pids[0] == s.cmd.Process.Pid }

func (s *workload) report() (r load.Report, err error) {
	if _, err := io.WriteString(s.in, "?\n"); err != nil {
		return r, fmt.Errorf("the workload has ended: %w", err)
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return r, fmt.Errorf("the workload has ended: %w", err)
		}
		if line[0] == '{' { // libraries may print too
			return r, json.Unmarshal(line, &r)
		}
	}
}

func (s *workload) tasks() int {
	n := 0
	for _, pid := range s.pids {
		list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		n += len(list)
	}
	return n
}

func (s *workload) stop() {
	_ = s.in.Close()
	hangs := time.AfterFunc(stopWithin, func() { _ = s.cmd.Process.Kill() })
	defer hangs.Stop()
	_ = s.cmd.Wait()
}
