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

	"prywalk/benchmarks/bench/load"
)

type workload struct {
	cell
	cmd  *exec.Cmd
	pids []int
	in   io.WriteCloser
	out  *bufio.Reader
}

// ErrAbsent means that a load is not available here.
var ErrAbsent = errors.New("not installed")

const stopWithin = 10 * time.Second

// startWorkload starts a target that ends when its standard input closes, so with this process.
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
	w := &workload{cell: c, cmd: cmd, in: in, out: bufio.NewReader(out)}
	line, err := w.out.ReadString('\n')
	if reason, ok := strings.CutPrefix(line, load.Absent); ok {
		w.stop()
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(reason), ErrAbsent)
	}
	if err == nil {
		err = w.ready(strings.TrimSpace(line))
	}
	if err != nil {
		w.stop()
		return nil, fmt.Errorf("the workload with %d threads did not start: %q %w", c.Threads, line, err)
	}
	time.Sleep(c.Warm)
	return w, nil
}

func (w *workload) ready(line string) error {
	word, pids, _ := strings.Cut(line, " ")
	if word != load.Ready {
		return errors.New("it does not say that it is ready")
	}
	w.pids = []int{w.cmd.Process.Pid}
	if pids == "" {
		return nil
	}
	w.pids = w.pids[:0]
	for text := range strings.SplitSeq(pids, ",") {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		w.pids = append(w.pids, pid)
	}
	w.Threads = w.tasks()
	return nil
}

func (w *workload) ownProcess() bool { return w.pids[0] == w.cmd.Process.Pid }

func (w *workload) report() (r load.Report, err error) {
	if _, err := io.WriteString(w.in, "?\n"); err != nil {
		return r, fmt.Errorf("the workload has ended: %w", err)
	}
	for {
		line, err := w.out.ReadBytes('\n')
		if err != nil {
			return r, fmt.Errorf("the workload has ended: %w", err)
		}
		if line[0] == '{' { // libraries may print too
			return r, json.Unmarshal(line, &r)
		}
	}
}

func (w *workload) tasks() int {
	n := 0
	for _, pid := range w.pids {
		list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		n += len(list)
	}
	return n
}

func (w *workload) stop() {
	_ = w.in.Close()
	hangs := time.AfterFunc(stopWithin, func() { _ = w.cmd.Process.Kill() })
	defer hangs.Stop()
	_ = w.cmd.Wait()
}
