import { ATTACH_SECTIONS } from './attach.js'
import { type Setting, settingsOf } from './config.js'
import type { OptionSection } from './flags.js'
import { SERVE_SECTIONS } from './serve-options.js'

/** Returns the JSON schema of a settings file, with which editors check and complete it. */
function schemaOf(title: string, sections: readonly OptionSection[]): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title,
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(settingsOf(sections).map(setting => [setting.name, propertyOf(setting)])),
  }
}

function propertyOf({ entry, variable }: Setting): object {
  const { kind, help, preset, without, default: value } = entry
  const { schema } = kind
  const standard = without === undefined || value !== undefined ? '' : ` (${without})`
  return {
    description: `${help}${standard}. Variable: ${variable}`,
    ...(preset === undefined ? schema : { anyOf: [schema, { type: 'boolean' }] }),
    ...(value !== undefined && { default: value }),
  }
}

/** The schemas of the package by file name. */
export const SCHEMAS: Readonly<Record<string, object>> = {
  'store.json': schemaOf('Options of `rx-statestore serve`', SERVE_SECTIONS),
  'attached-store.json': schemaOf('Options of `rx-statestore attach`', ATTACH_SECTIONS),
}
