package bench

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// subject is a running workload.
type subject struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startSubject starts this binary as a workload of running and sleeping threads. It
// ends when its standard input does, and so with this process.
func startSubject(self string, running, sleeping int) (*subject, error) {
	cmd := exec.Command(self, "bench-workload", "--running", strconv.Itoa(running), "--sleeping", strconv.Itoa(sleeping))
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
	s := &subject{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if line, err := s.out.ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		s.stop()
		return nil, fmt.Errorf("the workload with %d threads did not start: %q %w", running+sleeping, line, err)
	}
	return s, nil
}

// work asks how much was done so far.
func (s *subject) work() (uint64, error) {
	if _, err := io.WriteString(s.in, "?\n"); err != nil {
		return 0, fmt.Errorf("the workload has ended: %w", err)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the workload has ended: %w", err)
	}
	return strconv.ParseUint(strings.TrimSpace(line), 10, 64)
}

func (s *subject) stop() {
	_ = s.in.Close()         // its end is the workload's
	_ = s.cmd.Process.Kill() // in case it hangs
	_ = s.cmd.Wait()
}
