// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"slices"
)

const maxWaitingBytes = 8 << 20

// message waits in memory, or in a file of the spool.
type message struct {
	compressed []byte // nil: in the file
	intervals  int
	size       int64  // compressed, bytes
	file       string // "": in memory
}

func newMessage(body []byte, intervals int) message {
	compressed := gzipCompress(body)
	return message{compressed: compressed, intervals: intervals, size: int64(len(compressed))}
}

// queue holds waiting messages, the oldest first. Beyond a bound the oldest are dropped and counted. Not for concurrent
// use.
type queue struct {
	spool   *spool // nil: memory only
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
		n.earlierMessages(s, len(q.list))
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
		q.notices.keptMessages(q.spool, len(q.list))
		q.spool.close()
	}
	return lost
}
