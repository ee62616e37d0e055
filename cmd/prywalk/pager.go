package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"

	"golang.org/x/sys/unix"
)

// defaultPager shows a text at once if it has room on the terminal (-F), with its colours (-R), and leaves it there
// (-X). As git does, it is used with these options unless LESS says others.
const (
	defaultPager = "less"
	lessOptions  = "FRX"
)

// paged writes a text to standard output: by the user's pager if that is a terminal and the text is for people. Who
// reads no further is no error.
func paged(forPrograms bool, write func(io.Writer) error) error {
	pager := pagerCommand()
	if forPrograms || pager == "" || !isTerminal(os.Stdout) {
		return printed(os.Stdout, write)
	}
	cmd := exec.Command("/bin/sh", "-c", pager)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS="+lessOptions)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return printed(os.Stdout, write)
	}
	if err := cmd.Start(); err != nil {
		return printed(os.Stdout, write)
	}
	signal.Ignore(os.Interrupt) // Ctrl-C is the pager's
	failure := printed(in, write)
	_ = in.Close() // it may have ended
	err = cmd.Wait()
	signal.Reset(os.Interrupt)
	if exit := (*exec.ExitError)(nil); failure == nil && errors.As(err, &exit) && exit.ExitCode() == notFound {
		return printed(os.Stdout, write)
	}
	return failure
}

// notFound is the shell's status for a command that is not there.
const notFound = 127

// pagerCommand is the command of the pager, "" for none.
func pagerCommand() string {
	pager, set := os.LookupEnv("PAGER")
	switch {
	case pager == "cat" || set && pager == "" || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "":
		return ""
	case set:
		return pager
	}
	if _, err := exec.LookPath(defaultPager); err != nil {
		return ""
	}
	return defaultPager
}

// printed writes a text with a buffer.
func printed(w io.Writer, write func(io.Writer) error) error {
	out := bufio.NewWriter(w)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if errors.Is(err, unix.EPIPE) { // head has seen enough
		return nil
	}
	return err
}
