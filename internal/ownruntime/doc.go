// SPDX-License-Identifier: Apache-2.0

// Package ownruntime keeps prywalk's own Go runtime out of the way of the looks. No garbage is collected while a
// target's thread can be stopped, and the runtime's monitor sleeps for longer. Besides, it measures prywalk's own
// processor time.
package ownruntime
