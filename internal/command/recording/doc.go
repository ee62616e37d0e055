// SPDX-License-Identifier: Apache-2.0

// Package recording implements a run of prywalk record, top or agent: it opens or launches processes, samples, handles
// signals, shows progress, and writes the recording at checkpoints and at the end.
package recording
