// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"prywalk/internal/host/outfile"
)

const maxWaitingBytes = 8 << 20

// message waits in memory, or in a file of the spool.
type message struct {
	compressed []byte // nil if they are in the file
	intervals  int
	size       int64  // compressed, bytes
	file       string // "" if it is in memory
}

func newMessage(body []byte, intervals int) message {
	compressed := gzipCompress(body)
	return message{compressed: compressed, intervals: intervals, size: int64(len(compressed))}
}

// queue holds waiting messages, the oldest first. Beyond a bound it drops and counts old ones. Not for concurrent use.
type queue struct {
	spool   *spool // nil if messages are kept in memory only
	list    []message
	sending bool // the first message is being sent: it is not dropped
	notices *notices
}

// newQueue begins with the messages that an earlier agent left in the spool.
func newQueue(s *spool, n *notices) queue {
	q := queue{spool: s, notices: n}
	if s != nil {
		q.list = s.left
		dropped := q.trim(true, s.maxBytes)
		n.spooled(s, "of an earlier agent, which are sent first", len(q.list))
		n.queueFull(dropped, "raise --spool-size")
	}
	return q
}

// append uses the spool if the receiver is away, the spool has older messages, or memory is full.
func (q *queue) append(m message, unreachable bool) {
	q.list = append(q.list, m)
	step := "give a directory with --spool"
	if q.spool != nil {
		step = "see the message about --spool"
		if memory, files := q.bytes(); unreachable || files > 0 || memory > maxWaitingBytes {
			q.spill()
		}
	}
	q.notices.queueFull(q.trim(false, maxWaitingBytes), step)
}

// bytes are of the messages in memory and in files.
func (q *queue) bytes() (memory, files int64) {
	for i := range q.list {
		if q.list[i].file == "" {
			memory += q.list[i].size
		} else {
			files += q.list[i].size
		}
	}
	return memory, files
}

// trim drops the oldest messages in files, or in memory, beyond a bound, except the last and the one that is being
// sent. It returns the number of dropped intervals.
func (q *queue) trim(inFiles bool, most int64) (intervals int) {
	excess, files := q.bytes()
	if inFiles {
		excess = files
	}
	excess -= most
	kept := q.list[:0]
	for i, m := range q.list {
		if excess <= 0 || (m.file != "") != inFiles || i == 0 && q.sending || i == len(q.list)-1 {
			kept = append(kept, m)
			continue
		}
		excess -= m.size
		intervals += m.intervals
		q.delete(&m)
	}
	clear(q.list[len(kept):])
	q.list = kept
	return intervals
}

func (q *queue) delete(m *message) {
	if m.file != "" {
		q.spool.remove(m)
	}
}

// take returns the oldest readable message. It stays the first until putBack, remove or replace is called. Unreadable
// files are tried again later.
func (q *queue) take() (body []byte, intervals int, ok bool) {
	for range len(q.list) {
		m := q.list[0]
		body, err := q.read(&m)
		switch {
		case err == nil:
			q.sending = true
			return body, m.intervals, true
		case errors.Is(err, errDamagedFile):
			q.notices.damaged(q.spool, &m, err)
			q.remove()
		default:
			q.notices.unreadable(q.spool, &m, err)
			q.list = append(q.list[1:], m)
		}
	}
	return nil, 0, false
}

func (q *queue) read(m *message) ([]byte, error) {
	if m.file != "" {
		return q.spool.read(m)
	}
	body, err := gzipDecompress(m.compressed, maxMessage)
	if err != nil {
		panic(err) // compressed by this process
	}
	return body, nil
}

func (q *queue) putBack() { q.sending = false }

// remove drops the first message.
func (q *queue) remove() {
	q.delete(&q.list[0])
	q.list[0] = message{}
	q.list, q.sending = q.list[1:], false
}

// replace replaces the first message by its parts. Its file is removed after theirs are written: an agent killed in
// between sends parts twice.
func (q *queue) replace(parts []message) {
	first := q.list[0]
	q.list, q.sending = slices.Concat(parts, q.list[1:]), false
	if first.file != "" {
		q.spill()
		q.spool.remove(&first)
	}
}

// spill moves memory to the spool, up to an error.
func (q *queue) spill() {
	if q.spool == nil {
		return
	}
	for i := range q.list {
		if q.list[i].file != "" {
			continue
		}
		err := q.spool.write(&q.list[i])
		q.notices.spoolWritten(q.spool, err)
		if err != nil {
			break
		}
	}
	q.notices.queueFull(q.trim(true, q.spool.maxBytes), "raise --spool-size")
}

// close spools what waits. It returns the number of intervals that stay in memory, which are lost.
func (q *queue) close() (lost int) {
	q.spill()
	q.list = slices.DeleteFunc(q.list, func(m message) bool {
		if m.file == "" {
			lost += m.intervals
		}
		return m.file == ""
	})
	if q.spool != nil {
		q.notices.spooled(q.spool, "that wait for the next agent", len(q.list))
		q.spool.close()
	}
	return lost
}

// spoolName has a sequence number, and the number of intervals.
const spoolName = "%016x-%d.otlp.gz"

var (
	errDamagedFile = errors.New("it cannot be read")
	errSpoolInUse  = errors.New("another agent uses it")
)

// spool is a directory with one compressed message per file, by name in the order of writing. No other user may write
// to it: its messages are sent with the agent's token. Not for concurrent use.
type spool struct {
	dir      string
	maxBytes int64
	next     uint64    // sequence number
	left     []message // when it was opened
	open     *outfile.Directory
}

// openSpool locks a spool, which may have messages of an earlier run.
func openSpool(dir string, maxBytes int64) (s *spool, err error) {
	open, err := outfile.OpenDirectory(dir)
	if err != nil {
		return nil, unusable(dir, err)
	}
	defer func() {
		if err != nil {
			_ = open.Close()
		}
	}()
	if !open.TryLock() {
		return nil, unusable(dir, errSpoolInUse)
	}
	list, err := open.List()
	if err != nil {
		return nil, unusable(dir, err)
	}
	s = &spool{open: open, dir: dir, maxBytes: maxBytes}
	for _, e := range list {
		m := message{file: e.Name()}
		var sequence uint64
		if n, err := fmt.Sscanf(m.file, spoolName, &sequence, &m.intervals); n != 2 || err != nil ||
			m.file != fmt.Sprintf(spoolName, sequence, m.intervals) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		m.size = info.Size()
		s.left = append(s.left, m)
		s.next = max(s.next, sequence+1)
	}
	if err := open.CheckWritable(); err != nil {
		return nil, unusable(dir, err)
	}
	return s, nil
}

func (s *spool) close() { _ = s.open.Close() }

func unusable(dir string, err error) error {
	return fmt.Errorf("--spool %s: %w; %s", dir, err, spoolStep(err))
}

// write moves a message from memory to a file.
func (s *spool) write(m *message) error {
	name := fmt.Sprintf(spoolName, s.next, m.intervals)
	err := s.open.Write(name, func(w io.Writer) error {
		_, err := w.Write(m.compressed)
		return err
	})
	if err == nil {
		s.next++
		m.file, m.compressed = name, nil
	}
	return err
}

// read returns a message. Its error is [errDamagedFile], or may be temporary.
func (s *spool) read(m *message) (body []byte, err error) {
	file, err := s.open.Open(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errDamagedFile, err)
	} else if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, m.size))
	if err != nil {
		return nil, err
	}
	if body, err = gzipDecompress(text, maxMessage); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamagedFile, err)
	}
	return body, nil
}

func (s *spool) remove(m *message) { _ = s.open.Remove(m.file) } // on error, the next run sends it again

func (s *spool) String() string { return strings.TrimSuffix(s.dir, "/") }
