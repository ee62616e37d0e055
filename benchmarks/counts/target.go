// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"prywalk/internal/host/procmem"
)

type crowd struct {
	pid               int
	burners, sleepers []int
	stop              func()
}

func compile(dir, name string) (string, error) {
	binary := filepath.Join(dir, name)
	source := filepath.Join("testdata", name+".c")
	out, err := exec.Command("cc", "-O2", "-pthread", "-o", binary, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cc: %w\n%s", err, out)
	}
	return binary, nil
}

func startCrowd(binary string, burners, sleepers int) (*crowd, error) {
	pid, stop, err := start(binary, strconv.Itoa(burners), strconv.Itoa(sleepers))
	if err != nil {
		return nil, err
	}
	c := &crowd{pid: pid, stop: stop}
	if err := c.sort(burners, sleepers); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func start(binary string, args ...string) (pid int, stop func(), err error) {
	cmd := exec.Command(binary, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		stop()
		return 0, nil, fmt.Errorf("%s did not start: %w", filepath.Base(binary), err)
	}
	return cmd.Process.Pid, stop, nil
}

const settling = time.Minute

func (c *crowd) sort(burners, sleepers int) error {
	for end := time.Now().Add(settling); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		tids, err := procmem.ListTasks(c.pid, nil)
		if err != nil {
			return err
		}
		slices.Sort(tids)
		c.burners, c.sleepers = nil, nil
		for _, tid := range tids {
			var s procmem.Stat
			f := procmem.OpenThread(c.pid, tid, nil)
			err := f.Stat(&s)
			f.Close()
			switch {
			case err != nil:
				return err
			case tid == c.pid:
			case s.State == 'R':
				c.burners = append(c.burners, tid)
			default:
				c.sleepers = append(c.sleepers, tid)
			}
		}
		if len(c.burners) == burners && len(c.sleepers) == sleepers {
			return nil
		}
	}
	return fmt.Errorf("%d threads run and %d sleep after %v; want %d and %d", len(c.burners), len(c.sleepers), settling,
		burners, sleepers)
}
