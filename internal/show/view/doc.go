// SPDX-License-Identifier: Apache-2.0

// Package view selects the part of a profile that a report or another viewer's file shows, and numbers its frames.
//
//	profile ──► filters ──► Selection: samples, one type of values ──► FrameTable: frames by number ──► rows, tree
package view
