// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"
	"os"
	"sync"
	"time"

	"prywalk/internal/printable"
)

// Progress is a line about what takes longer than [ProgressDelay].
type Progress struct {
	mu    sync.Mutex
	once  sync.Once
	shown bool
	quit  chan struct{}
	done  chan struct{}
}

// ProgressDelay precedes the first line.
const ProgressDelay = time.Second

// ProgressInterval is the time between updates.
const ProgressInterval = 500 * time.Millisecond

// StartProgress shows the results of text, which may be "".
func StartProgress(quiet bool, text func() string) *Progress {
	p := &Progress{quit: make(chan struct{}), done: make(chan struct{})}
	if quiet || IsQuiet() || !IsTerminal(os.Stderr) {
		close(p.done)
		return p
	}
	go p.run(text)
	return p
}

func (p *Progress) run(text func() string) {
	defer close(p.done)
	defer p.Pause()
	begun := time.Now()
	tick := time.NewTicker(ProgressInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			if time.Since(begun) >= ProgressDelay {
				p.show(text())
			}
		}
	}
}

func (p *Progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text != "" {
		_, _ = os.Stderr.WriteString("\r\x1b[K" + printable.String(text))
		p.shown = true
	}
}

// Pause removes the line, before other output.
func (p *Progress) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = os.Stderr.WriteString("\r\x1b[K")
		p.shown = false
	}
}

// Stop ends the line, before other output. It may be called repeatedly.
func (p *Progress) Stop() {
	p.once.Do(func() { close(p.quit) })
	<-p.done
}

type firstWrite struct {
	w      io.Writer
	before func()
}

// Write implements io.Writer.
func (f *firstWrite) Write(b []byte) (int, error) {
	if f.before != nil {
		f.before()
		f.before = nil
	}
	return f.w.Write(b)
}

// BeforeFirstWrite returns a writer that calls before at its first write.
func BeforeFirstWrite(w io.Writer, before func()) io.Writer { return &firstWrite{w, before} }
