// SPDX-License-Identifier: Apache-2.0

package safeopen

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

// Copier is the command that runs [Copy] in another process, for files on FUSE: once the server has a request, the
// waiting process cannot be killed (fs/fuse/dev.c, request_wait_answer). It is set before the first Open.
var Copier []string

const (
	// copyTimeLimit is for each further part of a file, copyTurns times that for the whole: a server may send a byte at a
	// time.
	copyTimeLimit = time.Second
	copyTurns     = 20
	// maxCopy bounds a copied file. Beyond maxCopies of open copies no file is copied. Bytes.
	maxCopy   = 256 << 20
	maxCopies = 512 << 20
)

var copies atomic.Int64 // bytes

// copyRequest has the paths as bytes: in a string, JSON replaces what is not UTF-8.
type copyRequest struct {
	Request
	Root, Path []byte
}

func (r *Request) forCopier() ([]byte, error) {
	return json.Marshal(copyRequest{*r, []byte(r.Root), []byte(r.Path)})
}

type copyReply struct {
	Stat  unix.Stat_t
	Error string
	Errno syscall.Errno
}

var copyErrors = []error{errNotRegular, ErrNotTrusted, ErrOutdated, ErrTooLarge}

// Copy opens the file of the request in in, and copies it to to, in a process that is abandoned if it hangs.
func Copy(in io.Reader, to *os.File, out io.Writer) error {
	var c copyRequest
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return err
	}
	r := c.Request
	r.Root, r.Path = string(c.Root), string(c.Path)
	var reply copyReply
	f, err := open(new(Opener), r, nil)
	if err == nil {
		reply.Stat = f.st
		_, err = io.Copy(to, io.LimitReader(f.f, f.st.Size)) // at most r.MaxSize, and what is counted in copies
	}
	if err != nil {
		reply.Error = err.Error()
		errors.As(err, &reply.Errno)
	}
	return json.NewEncoder(out).Encode(reply)
}

func (o *Opener) openByCopier(r Request) (*File, error) {
	if o.calls.timeLimit() <= lastLimit { // too short for a process
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

func (o *Opener) runCopier(r Request, to *os.File) (copyReply, error) {
	var reply copyReply
	ask, err := r.forCopier()
	if err != nil {
		return reply, err
	}
	var out bytes.Buffer
	cmd := exec.Command(Copier[0], Copier[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = bytes.NewReader(ask), &out, []*os.File{to}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // no Ctrl-C for it
	if err := cmd.Start(); err != nil {
		return reply, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := o.await(cmd.Process, to, ended); err != nil {
		return reply, err
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil {
		return reply, err
	}
	for _, e := range copyErrors {
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

func (o *Opener) await(p *os.Process, to *os.File, ended chan error) error {
	began, limit := time.Now(), copyTimeLimit
	if o.calls.late.Load() > 0 {
		limit /= 4
	}
	had := int64(0)
	for range copyTurns {
		select {
		case err := <-ended:
			return err
		case <-time.After(limit):
		}
		st, err := to.Stat()
		if err != nil || st.Size() <= had {
			break
		}
		had = st.Size()
	}
	_ = p.Kill() // takes effect when the server answers or ends
	o.calls.late.Add(1)
	o.calls.stuck.Add(1)
	total.stuck.Add(1)
	total.vain.add(time.Since(began), time.Now())
	go func() {
		<-ended //nolint:errcheck // its answer comes too late
		o.calls.stuck.Add(-1)
		total.stuck.Add(-1)
	}()
	return ErrStuck
}
