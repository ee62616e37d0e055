package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/sampler"
)

// progress prints how a recording goes, in one line, if stderr is a terminal.
type progress struct {
	quit, done chan struct{}
}

// progressEvery is the time between two states of the line.
const progressEvery = 500 * time.Millisecond

// startProgress begins to print, unless a command that was launched shares the terminal.
func startProgress(s *sampler.Sampler, shared bool) *progress {
	p := &progress{quit: make(chan struct{}), done: make(chan struct{})}
	if shared || !isTerminal(os.Stderr) {
		close(p.done)
		return p
	}
	go p.run(s)
	return p
}

func (p *progress) run(s *sampler.Sampler) {
	defer close(p.done)
	start := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			fmt.Fprint(os.Stderr, "\r\x1b[K")
			return
		case <-tick.C:
			g, took := s.Progress(), time.Since(start).Seconds()
			fmt.Fprintf(os.Stderr, "\r\x1b[K%.1f s  %.0f/s  %s  %s  %s complete  %d failed  (Ctrl-C ends)",
				took, float64(g.Ticks)/took, plural(g.Looks, "sample"), plural(int64(g.Threads), "thread"),
				percent(g.Complete, g.Stacks), g.Failed)
		}
	}
}

func (p *progress) stop() {
	close(p.quit)
	<-p.done
}

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// useColor reports whether text on a file should have colours (no-color.org).
func useColor(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}

// percent gives a share of the whole. It never rounds up to all of it.
func percent(part, whole int64) string {
	if whole == 0 {
		return "0%"
	}
	if part == whole {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", float64(part*1000/whole)/10)
}
