// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"os"
	"slices"
	"testing"

	"prywalk/internal/store/otlp"
)

type orderReceiver struct {
	receiver
	took []int
}

func newOrder(t *testing.T, answer func(body []byte) *failure) *orderReceiver {
	o := &orderReceiver{}
	o.answer = func(body []byte) (reply, *failure) {
		f := answer(body)
		if f == nil {
			n, err := otlp.Points(body)
			if err != nil {
				t.Error(err)
			}
			o.took = append(o.took, n)
		}
		return reply{}, f
	}
	return o
}

// The first message waits in memory because the spool cannot be written.
func TestTheOldestIsSentFirstAfterTheSpoolHasFailed(t *testing.T) {
	away := true
	r := newOrder(t, func([]byte) *failure {
		if away {
			return &failure{kind: retryable, err: errors.New("away")}
		}
		return nil
	})
	dir := t.TempDir() + "/spool"
	sp, err := openSpool(dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newTestSender(r, sp, 1<<20)
	s.enqueue(messageOf(1), 1)
	s.sendWaiting(t.Context())
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	s.enqueue(messageOf(2), 2)
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	s.enqueue(messageOf(3), 3)
	away = false
	s.sendWaiting(t.Context())
	if want := []int{1, 2, 3}; !slices.Equal(r.took, want) {
		t.Errorf("intervals of the messages: %d, want %d", r.took, want)
	}
}

func TestPartsOfASpooledMessageAreSentBeforeTheNextOne(t *testing.T) {
	const most = 1 << 17
	away, once := true, false
	r := newOrder(t, func(body []byte) *failure {
		if away {
			return &failure{kind: retryable, err: errors.New("away")}
		}
		if len(body) > most {
			once = true
			return &failure{kind: tooLarge, err: errors.New("too large")}
		}
		if once {
			once = false
			return &failure{kind: retryable, err: errors.New("away")}
		}
		return nil
	})
	sp, err := openSpool(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	s, m := newTestSender(r, sp, 1<<20)
	s.enqueue(messageOf(10_000), 10_000)
	s.enqueue(messageOf(3), 3)
	s.sendWaiting(t.Context())
	away = false
	for s.sendWaiting(t.Context()) > 0 {
	}
	n := len(r.took)
	if n < 3 || r.took[n-1] != 3 || r.points != 10_003 || m.waiting.Load() != 0 || m.waitingBytes.Load() != 0 {
		t.Errorf("intervals of the messages: %d; %d wait, %d bytes", r.took, m.waiting.Load(), m.waitingBytes.Load())
	}
}
