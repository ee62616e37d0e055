// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"cmp"
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
	NoteDiscarded()
	command := pagerCommand()
	if machineReadable || command == "" || !IsTerminal(os.Stdout) {
		return printed(os.Stdout, write)
	}
	p := &pager{command: command}
	return cmp.Or(printed(p, write), p.close())
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
	cmd := exec.Command("/bin/sh", "-c", p.command)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS="+lessOptions)
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("the pager does not start: %w; PAGER=cat disables it", err)
	}
	p.cmd, p.in = cmd, in
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
	if !set {
		pager = defaultPager
	}
	words := strings.Fields(pager)
	if term := os.Getenv("TERM"); term == "dumb" || term == "" || pager == "cat" || len(words) == 0 {
		return ""
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return ""
	}
	return pager
}

func printed(w io.Writer, write func(io.Writer) error) error {
	out := bufio.NewWriter(w)
	err := cmp.Or(write(out), out.Flush())
	if errors.Is(err, unix.EPIPE) { // such as head
		return nil
	}
	return err
}
