// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"
)

// As git's, unless LESS is set: exit if the text fits (-F), keep colours (-R) and the screen (-X).
const (
	defaultPager = "less"
	lessOptions  = "FRX"
)

// Paged writes to standard output, through the user's pager if that is a terminal and the text is for people. A reader
// that stops early is no error.
func Paged(machineReadable bool, write func(io.Writer) error) error {
	if err := CheckStdout(); err != nil {
		return err
	}
	command := pagerCommand()
	if machineReadable || command == "" || !IsTerminal(os.Stdout) {
		return printed(os.Stdout, write)
	}
	p := &pager{command: command}
	err := printed(p, write)
	if failed := p.close(); err == nil {
		err = failed
	}
	return err
}

// pager starts at the first write.
type pager struct {
	command string
	cmd     *exec.Cmd
	in      io.WriteCloser
}

// Write implements io.Writer.
func (p *pager) Write(b []byte) (int, error) {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return 0, err
		}
	}
	return p.in.Write(b)
}

func (p *pager) start() error {
	p.cmd = exec.Command("/bin/sh", "-c", p.command)
	p.cmd.Stdout, p.cmd.Stderr = os.Stdout, os.Stderr
	p.cmd.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		p.cmd.Env = append(p.cmd.Env, "LESS="+lessOptions)
	}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("the pager does not start: %w; PAGER=cat disables it", err)
	}
	signal.Ignore(os.Interrupt) // Ctrl-C is for the pager
	return nil
}

func (p *pager) close() error {
	if p.cmd == nil {
		return nil
	}
	_ = p.in.Close()
	err := p.cmd.Wait()
	signal.Reset(os.Interrupt)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == notFound {
		return fmt.Errorf("no pager %q; PAGER=cat disables it", p.command)
	}
	return nil
}

const notFound = 127

func pagerCommand() string {
	pager, set := os.LookupEnv("PAGER")
	switch {
	case pager == "cat" || set && pager == "" || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "":
		return ""
	case !set:
		pager = defaultPager
	}
	if words := strings.Fields(pager); len(words) == 0 || !exists(words[0]) {
		return ""
	}
	return pager
}

func exists(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

func printed(w io.Writer, write func(io.Writer) error) error {
	out := bufio.NewWriter(w)
	err := write(out)
	if failed := out.Flush(); err == nil {
		err = failed
	}
	if errors.Is(err, unix.EPIPE) { // such as head
		return nil
	}
	return err
}
