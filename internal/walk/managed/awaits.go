// SPDX-License-Identifier: Apache-2.0

package managed

// AwaitSource is a FrameSource that finds suspended functions in its heap.
type AwaitSource interface {
	FrameSource
	// Awaits returns the suspended asynchronous functions. It searches the heap until a time, CLOCK_MONOTONIC ns.
	Awaits(w Watch, until int64) AwaitList
}

// AwaitList is one reading of suspended functions. Tasks are chains of functions that await each other, those with
// equal frames once ([Task].Count). Undisturbed: no thread ran during the reading.
type AwaitList struct {
	AwaitCounts
	Tasks       []Task
	Undisturbed bool
}

// AwaitCounts counts a program's suspended asynchronous functions.
type AwaitCounts struct {
	// Pending is their number. Unproven changed while they were read, or did not pass a check, and are not shown, nor
	// are More chains of them, beyond the limits.
	Pending  int `json:"pending"`
	Unproven int `json:"unproven"`
	More     int `json:"more,omitempty"`
	// Read is the size of the pages that were searched, in bytes; 0: no heap was found. Unread are pages that were not
	// readable. Cut: not all pages were searched, as the time was over or there are too many promises.
	Read   int  `json:"read_bytes"`
	Unread int  `json:"unread_pages,omitempty"`
	Cut    bool `json:"cut,omitempty"`
}

// AreaHost is a [Host] that knows its memory without a file.
type AreaHost interface {
	Host
	// AnonymousAreas calls f for the writable areas without a file and without code, ascending.
	AnonymousAreas(f func(Span))
}
