// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets/bounded"
)

// Patience bounds waits in tests.
const Patience = 2 * time.Minute

// Terminal is a pseudo-terminal that keeps what is written to it.
type Terminal struct {
	Slave  *os.File
	Out    Lines
	master *os.File
	done   chan struct{}
	t      *testing.T
}

func openTerminal(t *testing.T, columns int) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs pseudo-terminals: a mounted devpts (%v)", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	return master, slave
}

// StoppedTerminal takes no output, as after Ctrl-S (tcflow(3)).
func StoppedTerminal(t *testing.T) *os.File {
	t.Helper()
	_, slave := openTerminal(t, 80)
	if err := unix.IoctlSetInt(int(slave.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	return slave
}

// NewTerminal opens a terminal of so many columns.
func NewTerminal(t *testing.T, columns int) *Terminal {
	t.Helper()
	master, slave := openTerminal(t, columns)
	tty := &Terminal{Slave: slave, master: master, done: make(chan struct{}), t: t}
	go func() {
		defer close(tty.done)
		buf := make([]byte, 1<<16)
		for {
			n, err := master.Read(buf)
			_, _ = tty.Out.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	return tty
}

// Type sends keys to the terminal's reader.
func (tty *Terminal) Type(t *testing.T, keys string) {
	t.Helper()
	if _, err := tty.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// Text returns what was written, once the terminal is closed everywhere.
func (tty *Terminal) Text() string {
	_ = tty.Slave.Close()
	bounded.Receive(tty.t, "the terminal is closed everywhere", tty.done)
	return strings.ReplaceAll(tty.Out.String(), "\r\n", "\n")
}

// Lines is what was written so far; safe for concurrent use.
type Lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what was written so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Says waits until a stream contains a text.
func Says(t *testing.T, l *Lines, text string) {
	t.Helper()
	if !Comes(func() bool { return strings.Contains(l.String(), text) }) {
		t.Fatalf("waited in vain for %q; there is %q", text, l.String())
	}
}

// ReadRecording waits until a recording exists and reads it.
func ReadRecording(t *testing.T, file string) *pprof.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := pprof.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Fifo makes a named pipe.
func Fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// StderrIs makes a file the standard error until the test ends.
func StderrIs(t *testing.T, f *os.File) {
	t.Helper()
	old := os.Stderr
	os.Stderr = f
	t.Cleanup(func() { os.Stderr = old })
}
