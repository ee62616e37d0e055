// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// commandLimit bounds a command. The longest ones compile with an empty cache on a busy machine.
const commandLimit = 20 * time.Minute

var errLate = fmt.Errorf("it was killed after %v", commandLimit)

// Run is cmd.Run with a bound. An error says what was run, and what it wrote, unless the caller reads that.
func Run(cmd *exec.Cmd) error {
	// A file: children that outlive the command may hold its output open.
	said, err := os.CreateTemp("", "prywalk-output-")
	if err != nil {
		return err
	}
	defer said.Close()
	_ = os.Remove(said.Name())
	for _, to := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		if *to == nil {
			*to = said
		}
	}
	return failure(cmd, run(cmd), func() []byte {
		text := make([]byte, mostSaid)
		n, _ := said.ReadAt(text, 0)
		return text[:n]
	})
}

const mostSaid = 16 << 10

// Output is cmd.Output with a bound. An error says what was run, and what it wrote to its standard error, unless the
// caller reads that.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd.Stdout = &out
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	err := run(cmd)
	return out.Bytes(), failure(cmd, err, errs.Bytes)
}

// AllOutput is cmd.CombinedOutput with a bound. An error says what was run.
func AllOutput(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := run(cmd)
	return out.Bytes(), failure(cmd, err, func() []byte { return nil })
}

func run(cmd *exec.Cmd) error {
	cmd.WaitDelay = patience // children may hold a pipe open
	if err := cmd.Start(); err != nil {
		return err
	}
	return wait(cmd, commandLimit)
}

func wait(cmd *exec.Cmd, limit time.Duration) error {
	killed := make(chan struct{})
	late := time.AfterFunc(limit, func() {
		_ = cmd.Process.Kill()
		close(killed)
	})
	err := cmd.Wait()
	if !late.Stop() {
		<-killed // the function runs
		return errors.Join(errLate, err)
	}
	return err
}

func failure(cmd *exec.Cmd, err error, said func() []byte) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%q: %w", cmd.Args, err)
	if text := bytes.TrimSpace(said()); len(text) > 0 {
		return fmt.Errorf("%w; it wrote:\n%s", err, text)
	}
	return err
}
