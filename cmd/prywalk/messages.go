package main

import (
	"bytes"
	"os"
	"sync"
)

// messages is where say writes to: stderr, or a buffer while the terminal shows a table.
var messages messageWriter

// mostHeld is how much of them is kept, in bytes.
const mostHeld = 16 << 10

type messageWriter struct {
	mu      sync.Mutex
	holding bool
	held    bytes.Buffer
}

// Write implements io.Writer.
func (m *messageWriter) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.holding {
		return os.Stderr.Write(b)
	}
	if m.held.Len()+len(b) <= mostHeld {
		m.held.Write(b)
	}
	return len(b), nil
}

// hold keeps what is said from now on.
func (m *messageWriter) hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding = true
}

// tell writes what was held, and what is said from now on.
func (m *messageWriter) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding = false
	_, _ = m.held.WriteTo(os.Stderr) // there is nobody to tell that this failed
}
