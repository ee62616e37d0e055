// SPDX-License-Identifier: Apache-2.0

package ptrace

type attachmentTable struct {
	list    []Attachment
	used    int
	live    int
	rescuer *rescuer
}

func (t *attachmentTable) inUse() []Attachment { return t.list[:t.used] }

func (t *attachmentTable) find(tid int) *Attachment {
	for i := range t.inUse() {
		if attachment := &t.list[i]; attachment.tid == tid && attachment.state != attachmentFree {
			return attachment
		}
	}
	return nil
}

func (t *attachmentTable) freeSlot() *Attachment {
	for i := range t.list {
		if attachment := &t.list[i]; attachment.state == attachmentFree {
			t.used = max(t.used, i+1)
			attachment.index = i
			return attachment
		}
	}
	return nil
}

func (t *attachmentTable) occupy(attachment *Attachment, tid int) {
	*attachment = Attachment{tid: tid, index: attachment.index, state: attachmentPending}
	t.rescuer.tids[attachment.index].Store(int32(tid))
	t.live++
}

func (t *attachmentTable) free(attachment *Attachment) {
	t.rescuer.tids[attachment.index].Store(0)
	*attachment = Attachment{}
	t.live--
	for t.used > 0 && t.list[t.used-1].state == attachmentFree {
		t.used--
	}
}

// anyStopsSoon reports whether any pending thread is not queued ([Attachment.MarkQueued]).
func (t *attachmentTable) anyStopsSoon() bool {
	for i := range t.inUse() {
		if attachment := &t.list[i]; attachment.state == attachmentPending && !attachment.queued {
			return true
		}
	}
	return false
}
