// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"prywalk/internal/store/profile"
)

type slowResolver struct{ takes time.Duration }

func (r *slowResolver) Resolve(*profile.ModuleInfo, uint64) []profile.Frame {
	time.Sleep(r.takes) // synctest's time
	r.takes = 0
	return nil
}

type millisecondReceiver struct{ messages int }

func (r *millisecondReceiver) send(ctx context.Context, _ []byte) (reply, *failure) {
	if !sleep(ctx.Done(), time.Millisecond) {
		return reply{}, &failure{kind: retryable, err: ctx.Err()}
	}
	r.messages++
	return reply{}, nil
}

func TestFlushLimitsSendingAndNotNaming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := New(Options{
			Receiver: Receiver{Endpoint: "http://localhost:4317", Protocol: GRPC, Timeout: time.Minute},
			Window:   time.Second, MaxMessage: 1 << 20, Flush: time.Second, Logf: quietly,
		})
		if err != nil {
			t.Fatal(err)
		}
		r := &millisecondReceiver{}
		a.sender.client = r
		b := profile.NewBuilder(profile.Meta{Discard: true})
		m := &profile.ModuleInfo{Path: "/bin/app", Start: 0x400000, End: 0x500000}
		stack := b.Intern([]profile.Loc{{Module: m, Addr: 0x400030}})
		a.Start(time.Now(), time.Second, b, &slowResolver{2 * time.Second})
		a.Add(profile.Interval{Stack: stack, PID: 1 << 30, Comm: "app", Wall: 5})
		if lost := a.Finish(time.Now().Add(time.Second)); lost != 0 || r.messages != 1 {
			t.Errorf("%d intervals are lost, %d messages came", lost, r.messages)
		}
	})
}
