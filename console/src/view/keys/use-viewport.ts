import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** The part of a scrolling element that is to be seen; CSS pixels. */
export interface Seen {
  readonly scrollTop: number
  readonly width: number
  readonly height: number
}

/** Follows an element that scrolls, once per painted frame at most. */
export function useViewport(): { readonly ref: RefObject<HTMLDivElement | null>; readonly seen: Seen } {
  const ref = useRef<HTMLDivElement>(null)
  const [seen, see] = useState<Seen>({ scrollTop: 0, width: 0, height: 0 })
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    let frame = 0
    const look = (): void => {
      frame = 0
      see({ scrollTop: element.scrollTop, width: element.clientWidth, height: element.clientHeight })
    }
    const moved = (): void => {
      if (frame === 0) frame = requestAnimationFrame(look)
    }
    look()
    const observer = new ResizeObserver(moved)
    observer.observe(element)
    element.addEventListener('scroll', moved, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', moved)
      cancelAnimationFrame(frame)
    }
  }, [])
  return { ref, seen }
}
