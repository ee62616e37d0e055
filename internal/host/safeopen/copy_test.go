// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"prywalk/internal/testtargets/bounded"
)

// In a bubble of synctest, with its clock, the reset lets earlier waiting in vain be forgotten.
func resetVainWaiting() {
	total.vain.mu.Lock()
	defer total.vain.mu.Unlock()
	total.vain.sum, total.vain.at = 0, time.Time{}
}

func TestACopyOfSingleBytesIsGivenUp(t *testing.T) {
	defer resetVainWaiting()
	copier := exec.Command("sleep", "1h")
	must(t, copier.Start())
	to, err := os.Create(filepath.Join(t.TempDir(), "copy"))
	must(t, err)
	defer to.Close()
	o := new(Opener)
	synctest.Test(t, func(t *testing.T) {
		resetVainWaiting()
		ended, given := make(chan error), make(chan struct{})
		go func() {
			for {
				select {
				case <-given:
					ended <- nil
					return
				case <-time.After(copyTimeLimit / 2):
					_, _ = to.WriteString("x")
				}
			}
		}()
		began := time.Now()
		if err := o.await(copier.Process, to, ended); !errors.Is(err, ErrStuck) {
			t.Error(err)
		}
		if took := time.Since(began); took != copyTurns*copyTimeLimit {
			t.Errorf("given up after %v", took)
		}
		if sum := total.vain.add(0, time.Now()); sum <= totalLimit {
			t.Errorf("%v count as waited in vain", sum)
		}
		close(given)
	})
	if err := copier.Wait(); err == nil {
		t.Error("the copier was not killed")
	}
	if n := o.calls.stuck.Load(); n != 0 {
		t.Errorf("%d calls count as stuck after the copier's end", n)
	}
}

func TestNothingIsCopiedAfterMuchVainWaiting(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	Copier = []string{"touch", ran}
	defer func() { Copier = nil }()
	defer resetVainWaiting()
	total.vain.add(time.Hour, time.Now())
	if _, err := new(Opener).openByCopier(Request{Path: "/mnt/file"}); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a copier was started")
	}
}

func TestACopyHasTheSizeThatTheFileHadWhenOpened(t *testing.T) {
	const size = 1 << 20 // more than a pipe takes
	name := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(name, make([]byte, size), 0o600))
	ask, err := (&Request{Path: name}).forCopier()
	must(t, err)
	from, to, err := os.Pipe()
	must(t, err)
	copied := make(chan error, 1)
	go func() {
		var reply bytes.Buffer
		copied <- errors.Join(Copy(bytes.NewReader(ask), to, &reply), to.Close())
	}()
	first := make([]byte, 1)
	_, err = io.ReadFull(from, first)
	must(t, err)
	must(t, os.Truncate(name, 2*size))
	rest, err := io.ReadAll(from)
	must(t, errors.Join(err, bounded.Receive(t, "the copy ends", copied)))
	if n := len(first) + len(rest); n != size {
		t.Errorf("%d bytes, want %d", n, size)
	}
}

func TestCopierOpensNamesThatAreNotUTF8(t *testing.T) {
	dir := t.TempDir()
	r := Request{Root: filepath.Join(dir, "\xe9"), Path: "/\xff"}
	must(t, os.Mkdir(r.Root, 0o700))
	must(t, os.WriteFile(r.name(), []byte("text"), 0o600))
	ask, err := r.forCopier()
	must(t, err)
	to, err := os.Create(filepath.Join(dir, "copy"))
	must(t, err)
	defer to.Close()
	var reply bytes.Buffer
	must(t, Copy(bytes.NewReader(ask), to, &reply))
	if b, err := os.ReadFile(to.Name()); err != nil || string(b) != "text" {
		t.Errorf("%q, %v, %s", b, err, &reply)
	}
}

// Each copy of a file is another file: its identity is not that of the file.
func TestTheStateOfACopyIsUnknown(t *testing.T) {
	from, err := os.Open("/dev/null")
	must(t, err)
	f := &File{f: from, copied: true}
	defer f.Close()
	if info, err := f.Stat(); !errors.Is(err, ErrStuck) {
		t.Errorf("%v, %v, want ErrStuck", info, err)
	}
}
