import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** The visible area, in CSS pixels. */
export interface VisibleArea {
  readonly scrollTop: number
  readonly width: number
  readonly height: number
}

/** Tracks the scroll position of an element, at most once per frame. */
export function useViewport(): { readonly ref: RefObject<HTMLDivElement | null>; readonly visible: VisibleArea } {
  const ref = useRef<HTMLDivElement>(null)
  const [visible, setVisible] = useState<VisibleArea>({ scrollTop: 0, width: 0, height: 0 })
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    let frame = 0
    const measure = (): void => {
      frame = 0
      setVisible({ scrollTop: element.scrollTop, width: element.clientWidth, height: element.clientHeight })
    }
    const scheduleMeasure = (): void => {
      if (frame === 0) frame = requestAnimationFrame(measure)
    }
    measure()
    const observer = new ResizeObserver(scheduleMeasure)
    observer.observe(element)
    element.addEventListener('scroll', scheduleMeasure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', scheduleMeasure)
      cancelAnimationFrame(frame)
    }
  }, [])
  return { ref, visible }
}
