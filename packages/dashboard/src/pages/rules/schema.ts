import document from "sluice/rules.schema.json"
import { type Schema, SchemaReader } from "../../yaml/schema.js"

export const setSchema = new SchemaReader(document as Schema)
export const ruleSchema = new SchemaReader(document as Schema, ["rules", 0])
