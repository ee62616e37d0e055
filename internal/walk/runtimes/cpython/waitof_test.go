// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"testing"

	"prywalk/internal/walk/managed"
)

func TestTaskWaitIsThePublicFunctionCalled(t *testing.T) {
	lib := func(function string) managed.Frame {
		return managed.Frame{Function: function, File: "/usr/lib/python3.12/asyncio/queues.py"}
	}
	own := managed.Frame{Function: "worker", File: "/srv/app.py"}
	for _, c := range []struct {
		want, awaits string
		frames       []managed.Frame
	}{
		{"asyncio.Queue.get", "Future", []managed.Frame{lib("Queue.get"), own}},
		{"asyncio.wait", "Future", []managed.Frame{lib("_wait"), lib("wait"), own}},
		{"asyncio._wait", "Future", []managed.Frame{lib("_wait"), own}},
		{"asyncio.gather", gatherClass, []managed.Frame{own}},
		{"Future", "Future", []managed.Frame{own, lib("Queue.get")}},
		{"", "", []managed.Frame{own}},
	} {
		if got := waitOf(&managed.Task{Family: "asyncio", Awaits: c.awaits, Frames: c.frames}); got != c.want {
			t.Errorf("%v: %q, want %q", c.frames, got, c.want)
		}
	}
}
