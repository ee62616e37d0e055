// SPDX-License-Identifier: Apache-2.0

package procmem

// mmapLockWatch counts the stops in which another thread reads, as a read may wait for mmap_lock.
type mmapLockWatch struct {
	watchedStops int
	watchBegun   bool
	oftenHeld    bool
}

// WatchMmapLock watches the lock for at least n more stops.
func (w *mmapLockWatch) WatchMmapLock(n int) {
	w.watchedStops = max(w.watchedStops, n)
}

// WatchHeldMmapLock is WatchMmapLock for a lock that was found held.
func (w *mmapLockWatch) WatchHeldMmapLock(n int) {
	w.oftenHeld = true
	w.WatchMmapLock(n)
}

// WatchMmapLockOnce is WatchMmapLock at its first call.
func (w *mmapLockWatch) WatchMmapLockOnce(n int) {
	if !w.watchBegun {
		w.watchBegun = true
		w.WatchMmapLock(n)
	}
}

// CountWatchedStop counts a stop for WatchMmapLock.
func (w *mmapLockWatch) CountWatchedStop() {
	if w.watchedStops = max(w.watchedStops-1, 0); w.watchedStops == 0 {
		w.oftenHeld = false
	}
}

// WatchesMmapLock reports whether stops are watched.
func (w *mmapLockWatch) WatchesMmapLock() bool { return w.watchedStops > 0 }

// MmapLockOftenHeld reports whether WatchHeldMmapLock is in effect.
func (w *mmapLockWatch) MmapLockOftenHeld() bool { return w.oftenHeld }
