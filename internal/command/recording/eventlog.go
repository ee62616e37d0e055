// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"

	"prywalk/internal/account/attribute"
	"prywalk/internal/store/profile"
)

// logStacks adds the functions of each stack to the log of events, with --rotate not those of evicted stacks. A write
// error ends it; the log's flush returns it.
func (r *recording) logStacks() {
	names := profile.NewNames(r.builder, nil)
	var stack []profile.Named
	for _, id := range r.builder.StackIDs() {
		stack = names.Stack(id, r.fileNames, stack[:0])
		var functions []string
		for i := range stack {
			for _, f := range stack[i].Frames {
				functions = append(functions, cmp.Or(f.Name, "?"))
			}
		}
		if attribute.WriteStack(r.samplerOpts.EventLog, id, functions) != nil {
			return
		}
	}
}
