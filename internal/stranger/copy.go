// SPDX-License-Identifier: Apache-2.0

package stranger

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Copier is the command that runs [Copy]. With it, another process reads files on FUSE file systems. Who waits for
// a FUSE server cannot be killed once the server has taken the request (request_wait_answer in fs/fuse/dev.c), so
// that prywalk itself could not even end. Set it before the first file is opened.
var Copier []string

const (
	// copyPatience is how long a copy may make no progress, the start of the process included.
	copyPatience = time.Second
	// maxCopy bounds a file that is copied, and maxCopies all that are open at a time, in bytes: they are
	// held in memory.
	maxCopy   = 256 << 20
	maxCopies = 512 << 20
)

// copies counts the bytes that are held.
var copies atomic.Int64

// copyReply is what Copy writes to its standard output.
type copyReply struct {
	Stat  unix.Stat_t
	Error string
	Errno syscall.Errno
}

// failures are the errors that Copy tells by their text.
var failures = []error{ErrNotRegular, ErrNotTrusted, ErrOutdated, ErrTooLarge}

// Copy opens the file that the request in in asks for, and copies it to the file to. It is for a process of
// its own, which is left alone if it hangs.
func Copy(in io.Reader, to *os.File, out io.Writer) error {
	var r Request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return err
	}
	var reply copyReply
	f, err := open(new(Opener), r, nil)
	if err == nil {
		reply.Stat = f.st
		_, err = io.Copy(to, io.LimitReader(f.f, maxCopy))
	}
	if err != nil {
		reply.Error = err.Error()
		errors.As(err, &reply.Errno)
	}
	return json.NewEncoder(out).Encode(reply)
}

// fetch opens a file by having it copied.
func (o *Opener) fetch(r Request) (*File, error) {
	if o.account.patience() == 0 {
		return nil, ErrStuck
	}
	if r.MaxSize == 0 || r.MaxSize > maxCopy {
		r.MaxSize = maxCopy
	}
	if copies.Load() > maxCopies {
		return nil, ErrTooLarge
	}
	fd, err := unix.MemfdCreate("prywalk-copy", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	to := os.NewFile(uintptr(fd), r.name())
	reply, err := o.runCopier(r, to)
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	copies.Add(reply.Stat.Size)
	return &File{f: to, st: reply.Stat, copied: true, by: o, req: r}, nil
}

// runCopier runs the process that copies, for as long as it gets on.
func (o *Opener) runCopier(r Request, to *os.File) (copyReply, error) {
	var reply copyReply
	ask, err := json.Marshal(r)
	if err != nil {
		return reply, err
	}
	var out bytes.Buffer
	cmd := exec.Command(Copier[0], Copier[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = bytes.NewReader(ask), &out, []*os.File{to}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not for it
	if err := cmd.Start(); err != nil {
		return reply, err
	}
	ended := make(chan exit, 1)
	go func() { ended <- exit{cmd.Wait()} }()
	if err := o.attend(cmd.Process, to, ended); err != nil {
		return reply, err
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil {
		return reply, err
	}
	for _, e := range failures {
		if reply.Error == e.Error() {
			return reply, e
		}
	}
	if reply.Errno != 0 {
		return reply, reply.Errno
	}
	if reply.Error != "" {
		return reply, errors.New(reply.Error)
	}
	return reply, nil
}

// exit is how the process ended.
type exit struct{ err error }

// attend waits for the end of the process, and gives it up if it makes no progress.
func (o *Opener) attend(p *os.Process, to *os.File, ended chan exit) error {
	limit := copyPatience
	if o.account.late.Load() > 0 {
		limit /= 4
	}
	had := int64(-1)
	for {
		select {
		case e := <-ended:
			return e.err
		case <-time.After(limit):
		}
		var has int64
		if st, err := to.Stat(); err == nil {
			has = st.Size()
		}
		if has > max(had, 0) {
			had = has
			continue
		}
		_ = p.Kill() // it ends when the server answers, or ends itself
		o.account.late.Add(1)
		o.account.stuck.Add(1)
		all.stuck.Add(1)
		all.spent.Add(int64(limit))
		go func() {
			<-ended
			o.account.stuck.Add(-1)
			all.stuck.Add(-1)
		}()
		return ErrStuck
	}
}
