// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"testing"

	"prywalk/internal/profile"
)

func TestEventLogNamesTheStacks(t *testing.T) {
	var log bytes.Buffer
	r := &recording{builder: profile.NewBuilder(profile.Meta{}), names: newResolver()}
	r.samplerOpts.EventLog = &log
	inner := profile.Loc{FramesID: r.builder.InternFrames([]profile.Frame{{Name: "inlined"}, {Name: "inner"}})}
	r.builder.Intern([]profile.Loc{{Synthetic: "[exited unseen]"}})
	r.builder.Intern([]profile.Loc{inner, {Synthetic: "outer"}})
	r.logStacks()
	want := `{"Stack":{"Functions":["[exited unseen]"],"ID":0}}
{"Stack":{"Functions":["inlined","inner","outer"],"ID":1}}
`
	if log.String() != want {
		t.Errorf("log\n%swant\n%s", log.String(), want)
	}
}
