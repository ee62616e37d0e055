package counts

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"prywalk/internal/procmem"
)

// crowd is a target that runs: threads that compute, and threads that sleep. It ends with this process.
type crowd struct {
	pid               int
	burners, sleepers []int // threads' numbers
	stop              func()
}

// compile makes the target's program.
func compile(dir string) (string, error) {
	binary := filepath.Join(dir, "crowd")
	out, err := exec.Command("cc", "-O2", "-pthread", "-o", binary, filepath.Join("testdata", "crowd.c")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cc: %w\n%s", err, out)
	}
	return binary, nil
}

// startCrowd starts a target, and waits until its sleepers sleep.
func startCrowd(binary string, burners, sleepers int) (*crowd, error) {
	cmd := exec.Command(binary, strconv.Itoa(burners), strconv.Itoa(sleepers))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &crowd{pid: cmd.Process.Pid, stop: func() {
		_ = in.Close() // which ends it
		_ = cmd.Wait()
	}}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		c.stop()
		return nil, fmt.Errorf("the target did not start: %w", err)
	}
	if err := c.sort(burners, sleepers); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// settling bounds the wait until the sleepers sleep.
const settling = time.Minute

// sort finds out who sleeps. The first thread does, too, and is counted with neither.
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
